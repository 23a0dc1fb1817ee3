# SPDX-License-Identifier: Apache-2.0
"""Which of numpy's functions distributed arrays have, and what becomes of the others.

A function of the table works on own parts, or is collective. Every other one would fetch the whole array to
each rank: it is refused. `numpy.asarray(a)` is the way to have all elements here, for those who want that.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, NoReturn, Sequence

from nearfetch.dense import Dense
from nearfetch.elements import Elements
from nearfetch.errors import Error

__all__ = ["call_function", "implements", "refuse"]

_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_signature = functools.lru_cache(maxsize=None)(inspect.signature)


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers what takes the place of these functions of numpy."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            _FUNCTIONS[function] = implementation
        return implementation

    return register


def call_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of numpy that has a distributed array among its arguments."""
    what = f"{function.__module__.replace('._core', '')}.{function.__name__}"
    known = _FUNCTIONS.get(function)
    if known is None:
        refuse(what, [*args, *kwargs.values()])
    try:
        _signature(known).bind(*args, **kwargs)
    except TypeError as problem:
        raise Error(
            f"{what} of a distributed array ({problem}): leave it out, or use np.asarray(a) if all elements "
            "fit there"
        ) from None
    return known(*args, **kwargs)


def refuse(what: str, operands: Sequence[Any] = ()) -> NoReturn:
    """Raises Error for a function that would fetch all elements."""
    sparse = any(isinstance(one, Elements) and not isinstance(one, Dense) for one in operands)
    raise Error(
        f"{what} of a {'sparse matrix' if sparse else 'distributed array'} (it would fetch all of it to "
        "each rank): " + ("use `local`" if sparse else "use np.asarray(a) if it fits, or `local`")
    )
