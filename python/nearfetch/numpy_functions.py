# SPDX-License-Identifier: Apache-2.0
"""numpy's functions for distributed arrays: ufuncs, new arrays, and what works element by element."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Sequence

from nearfetch import contractions, covariances, differences  # noqa: F401 - they register functions
from nearfetch.cumulative import accumulate
from nearfetch.dense import Dense
from nearfetch.elementwise import converted, elementwise, filled, write
from nearfetch.errors import Error
from nearfetch.numerical import np
from nearfetch.numpy_reductions import REDUCED, reduce
from nearfetch.numpy_registry import implements, refuse
from nearfetch.products import inner, matmul, norm, outer

__all__ = ["call_ufunc", "dot"]

_PRODUCTS = {np.matmul: matmul}
"""Ufuncs that do not work element by element."""


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], out: Sequence[Any] = (), **more: Any
) -> Any:
    """A ufunc with a distributed operand or output."""
    what = "numpy." + ufunc.__name__
    if isinstance(inputs[0], Dense) and ufunc in REDUCED:
        more_of_it = {**more, "out": out[0] if out else None}
        if method == "reduce":
            return reduce(ufunc, *inputs, **more_of_it)
        if method == "accumulate":
            return accumulate(ufunc, *inputs, **more_of_it)
    if method != "__call__":
        refuse(f"{what}.{method}", inputs)
    if ufunc.signature is None:
        return elementwise(ufunc, inputs, out=out, **more)
    if ufunc not in _PRODUCTS:
        refuse(what, inputs)
    if out or more:
        word = next(iter(more), "out")
        raise Error(f"{what} of distributed arrays with {word}= (its result is a new array): leave it out")
    return _PRODUCTS[ufunc](ufunc.__name__, *inputs)


# Properties, without communication.

implements(np.shape)(lambda a: a.shape)
implements(np.ndim)(lambda a: a.ndim)
implements(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])
implements(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
implements(np.isrealobj)(lambda x: x.dtype.kind != "c")
implements(np.array_repr, np.array_str)(lambda a: repr(a))

# One-sided accesses.

implements(np.take)(lambda a, indices, axis=None: a.take(indices, axis))
implements(np.put)(lambda a, ind, v: a.put(ind, v))


@implements(np.result_type)
def _result_type(*operands: Any) -> np.dtype:
    return np.result_type(*(one.dtype if isinstance(one, Dense) else one for one in operands))


@implements(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(*(one.dtype if isinstance(one, Dense) else one for one in (from_, to)), casting)


# New arrays of the same layout.


def _of_shape(what: str, a: Dense, shape: Any) -> None:
    given = a.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    if given != a.shape:
        raise Error(f"{what} of shape {given} (it has the layout of its model, {a.shape}): make an array")


@implements(np.zeros_like)
def _zeros_like(a: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("zeros_like", a, shape)
    return filled("zeros_like", a, dtype, None)


@implements(np.empty_like)
def _empty_like(prototype: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("empty_like", prototype, shape)
    return filled("empty_like", prototype, dtype, None)


@implements(np.ones_like)
def _ones_like(a: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("ones_like", a, shape)
    return filled("ones_like", a, dtype, 1)


@implements(np.full_like)
def _full_like(a: Dense, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("full_like", a, shape)
    return filled("full_like", a, dtype, fill_value)


@implements(np.copy)
def _copy(a: Dense) -> Dense:
    return converted("copy", a, a.dtype)


if hasattr(np, "astype"):  # from numpy 2.1 on

    @implements(np.astype)
    def _astype(x: Dense, dtype: Any, /, *, copy: bool = True) -> Dense:
        return x if not copy and x.dtype == np.dtype(dtype) else converted("astype", x, dtype)


@implements(np.copyto)
def _copyto(dst: Any, src: Any, *, where: Any = True) -> None:
    if not isinstance(dst, Dense):
        refuse("numpy.copyto from")
    write("copyto", dst, src, where)


# Element by element, which are no ufuncs. `operands`: how many of the arguments, from the first, are arrays.


def _elementwise(function: Any, operands: int = 1) -> None:
    signature = inspect.signature(function)
    names = tuple(signature.parameters)[:operands]

    def call(*args: Any, **words: Any) -> Any:
        given = signature.bind(*args, **words).arguments
        given.update(given.pop("kwargs", {}))
        out, where = given.pop("out", None), given.pop("where", True)
        arrays = {name: given.pop(name) for name in names if name in given}

        @functools.wraps(function)
        def of_own(*own: Any) -> Any:
            return function(**dict(zip(arrays, own)), **given)

        return elementwise(of_own, tuple(arrays.values()), out=() if out is None else (out,), where=where)

    call.__signature__ = signature  # type: ignore[attr-defined]
    implements(function)(call)


for _function in (
    *(np.angle, np.around, np.fix, np.i0, np.imag, np.iscomplex, np.isneginf, np.isposinf, np.isreal),
    *(np.nan_to_num, np.real, np.round, np.sinc, np.digitize, np.isin, np.interp),
):
    _elementwise(_function)
_elementwise(np.isclose, 2)
_elementwise(np.clip, 3)


# Products.


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """The product of vectors, matrices and scalars. Collective."""
    if () in (np.shape(a), np.shape(b)):
        return np.multiply(a, b)
    return matmul("dot", a, b)


@implements(np.vdot)
def _vdot(a: Any, b: Any, /) -> Any:
    return inner("vdot", a, b, np.vdot)


@implements(np.inner)
def _inner(a: Any, b: Any, /) -> Any:
    return matmul("inner", a, np.transpose(b))


@implements(np.outer)
def _outer(a: Any, b: Any) -> Any:
    return outer("outer", *(np.ravel(one) if np.ndim(one) > 1 else one for one in (a, b)))


@implements(np.linalg.norm)
def _norm(x: Dense, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return norm("norm", x, ord, axis, keepdims)
