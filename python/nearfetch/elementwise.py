# SPDX-License-Identifier: Apache-2.0
"""Functions that work element by element: each rank computes its own elements of the result.

A new array is complete on all ranks when the function returns, so it is collective. A function that writes
to arrays that are there, as `a += 1` does, is no more than what each rank does to its own elements: others
see it after the next barrier. Only operands of other layouts are communicated; then it is collective, too.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

from nearfetch.dense import (
    Dense,
    check_operand,
    checked_operand,
    collective,
    first_dense,
    new_array,
    part_of,
    shape_of,
)
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["converted", "elementwise", "filled", "write"]


def elementwise(
    function: Callable[..., Any],
    operands: Sequence[Any],
    *,
    out: Sequence[Optional[Dense]] = (),
    where: Any = True,
    **more: Any,
) -> Any:
    """`function(*operands, **more)` of own parts: a distributed array, or a tuple of as many as it returns.

    `function` is one of numpy's, or like one. One operand or array of `out` is distributed and has the
    shape of the result. `out`, `where`: as of a ufunc; without `out` elements that `where` leaves out are
    zero.

    Raises Error for operands that cannot be combined, and what the function raises.
    """
    what = function.__name__
    operands = [checked_operand(what, operand) for operand in operands]
    where = checked_operand(what, where)
    target = _target(what, [*operands, where], out)
    layouts = [operand._layout for operand in (*operands, where) if isinstance(operand, Dense)]
    reads = any(layout != target._layout for layout in layouts)
    if out and not reads and all(given is not None for given in out):
        results = tuple(out)
        _compute(function, operands, results, where, more)
        return results if len(results) > 1 else results[0]
    made = function(*(_without_elements(operand) for operand in operands), **more)
    dtypes = [one.dtype for one in (made if isinstance(made, tuple) else (made,))]
    with collective(what, target._layout, layouts, dtypes):
        outs = tuple(out) or (None,) * len(dtypes)
        results = tuple(
            new_array(target._layout, dtype) if given is None else given for dtype, given in zip(dtypes, outs)
        )
        if reads:
            _native.barrier()
        _compute(function, operands, results, where, more)
        _native.barrier()
    return results if len(results) > 1 else results[0]


def write(what: str, array: Dense, value: Any, where: Any = True) -> None:
    """Writes a value to own elements: broadcast, and converted as numpy does. See `elementwise`."""

    def copied(own: Any) -> Any:
        return own

    copied.__name__ = what
    value = checked_operand(what, value)
    elementwise(copied, [value if isinstance(value, Dense) else np.asarray(value)], out=(array,), where=where)


def filled(what: str, array: Dense, dtype: Any, value: Any) -> Dense:
    """A new array of the same layout, with a value that is broadcast; None: zero. Collective.

    Raises Error if the value is distributed.
    """
    if isinstance(value, Dense):
        raise Error(f"{what} with a distributed value (it is one value, or a numpy array): use copy()")
    known = array.dtype if dtype is None else np.dtype(dtype)
    with collective(what, array._layout, str(known)):
        made = new_array(array._layout, known, array._halo)
        if value is not None:
            write(what, made, np.asarray(value).astype(known))
            _native.barrier()
    return made


def converted(what: str, array: Dense, dtype: Any) -> Dense:
    """A copy in another dtype. Collective under the name `what`."""
    known = np.dtype(dtype)
    with collective(what, array._layout, str(known)):
        made = new_array(array._layout, known, array._halo)
        made.local[...] = array.local.astype(known, copy=False)
        _native.barrier()
    return made


def _compute(
    function: Callable[..., Any],
    operands: Sequence[Any],
    results: Sequence[Dense],
    where: Any,
    more: dict[str, Any],
) -> None:
    target = results[0]
    own = [part_of(target, operand) for operand in operands]
    chosen = part_of(target, where)
    if isinstance(function, np.ufunc):
        function(*own, out=tuple(one.local for one in results), where=chosen, **more)
        return
    made = function(*own, **more)
    for result, values in zip(results, made if isinstance(made, tuple) else (made,)):
        np.copyto(result.local, values, where=chosen)


def _target(what: str, operands: Sequence[Any], out: Sequence[Optional[Dense]]) -> Dense:
    """The array whose layout the result has, or will have."""
    shape = np.broadcast_shapes(*(shape_of(operand) for operand in (*operands, *out)))
    for given in out:
        if given is not None and not isinstance(given, Dense):
            raise Error(
                f"{what} with out= a {type(given).__name__} (each rank has its own elements of the result "
                "only): give a distributed array, or none"
            )
        if given is not None and given.shape != shape:
            raise Error(
                f"{what} with out= an array of shape {given.shape} (the result has {shape}): use one of that"
            )
    target = first_dense([*out, *operands], shape)
    if target is None:
        raise Error(
            f"{what} of operands of the shapes {', '.join(str(shape_of(one)) for one in operands)} (no "
            f"distributed one has the result's shape, {shape}): give out= an array of that shape"
        )
    for operand in operands:
        check_operand(target, operand)
    for given in out:
        if given is not None and given._layout != target._layout:
            raise Error(
                f"{what} with arrays of two layouts as out= (one fits): use arrays of the same layout"
            )
    return target


def _without_elements(operand: Any) -> Any:
    """What has the operand's dtype and no elements: functions of it find the dtype of the result."""
    return operand if shape_of(operand) == () else np.empty(0, operand.dtype)
