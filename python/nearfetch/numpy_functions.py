# SPDX-License-Identifier: Apache-2.0
"""numpy's functions for distributed arrays: which there are, and what becomes of the others.

A function of the table works on own parts, or is collective. Every other one would fetch the whole array to
each rank: it is refused. `numpy.asarray(a)` is the way to have all elements here, for those who want that.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, NoReturn, Optional, Sequence

from nearfetch.dense import Dense, checked_operand, collective, new_array, shape_of
from nearfetch.elements import Elements
from nearfetch.elementwise import elementwise, filled, write
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.products import inner, matmul, norm, outer
from nearfetch.reductions import arg_extreme, mean, reduced, variance

__all__ = ["call_function", "call_ufunc", "refuse", "transposed"]

_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_PRODUCTS = {np.matmul: matmul}
"""Ufuncs that do not work element by element."""
_REDUCED = {
    np.add: "sum",
    np.multiply: "prod",
    np.minimum: "min",
    np.maximum: "max",
    np.logical_and: "all",
    np.logical_or: "any",
    **{
        ufunc: ufunc.__name__ + ".reduce"
        for ufunc in (np.fmin, np.fmax, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor)
    },
}
"""Ufuncs whose `reduce` may take elements in any order, and its name as a collective function."""


def refuse(what: str, operands: Sequence[Any] = ()) -> NoReturn:
    """Raises Error for a function that would fetch all elements."""
    sparse = any(isinstance(one, Elements) and not isinstance(one, Dense) for one in operands)
    raise Error(
        f"{what} of a {'sparse matrix' if sparse else 'distributed array'} (it would fetch all of it to "
        "each rank): " + ("use `local`" if sparse else "use np.asarray(a) if it fits, or `local`")
    )


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], out: Sequence[Any] = (), **more: Any
) -> Any:
    """A ufunc with a distributed operand or output."""
    what = "numpy." + ufunc.__name__
    if method == "reduce" and ufunc in _REDUCED and isinstance(inputs[0], Dense):
        return _reduce(ufunc, *inputs, out=out[0] if out else None, **more)
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


def call_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of numpy that has a distributed array among its arguments."""
    what = _name_of(function)
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


def _name_of(function: Any) -> str:
    return f"{function.__module__.replace('._core', '')}.{function.__name__}"


_signature = functools.lru_cache(maxsize=None)(inspect.signature)


def _implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            _FUNCTIONS[function] = implementation
        return implementation

    return register


# Properties, without communication.

_implements(np.shape)(lambda a: a.shape)
_implements(np.ndim)(lambda a: a.ndim)
_implements(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])
_implements(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
_implements(np.isrealobj)(lambda x: x.dtype.kind != "c")
_implements(np.array_repr, np.array_str)(lambda a: repr(a))

# One-sided accesses.

_implements(np.take)(lambda a, indices, axis=None: a.take(indices, axis))
_implements(np.put)(lambda a, ind, v: a.put(ind, v))


@_implements(np.result_type)
def _result_type(*operands: Any) -> np.dtype:
    return np.result_type(*(one.dtype if isinstance(one, Dense) else one for one in operands))


@_implements(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(*(one.dtype if isinstance(one, Dense) else one for one in (from_, to)), casting)


# New arrays of the same layout, and other orders of the dimensions.


def _of_shape(what: str, a: Dense, shape: Any) -> None:
    given = a.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    if given != a.shape:
        raise Error(f"{what} of shape {given} (it has the layout of its model, {a.shape}): make an array")


@_implements(np.zeros_like)
def _zeros_like(a: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("zeros_like", a, shape)
    return filled("zeros_like", a, dtype, None)


@_implements(np.empty_like)
def _empty_like(prototype: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("empty_like", prototype, shape)
    return filled("empty_like", prototype, dtype, None)


@_implements(np.ones_like)
def _ones_like(a: Dense, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("ones_like", a, shape)
    return filled("ones_like", a, dtype, 1)


@_implements(np.full_like)
def _full_like(a: Dense, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Dense:
    _of_shape("full_like", a, shape)
    return filled("full_like", a, dtype, fill_value)


@_implements(np.copy)
def _copy(a: Dense) -> Dense:
    return converted("copy", a, a.dtype)


def converted(what: str, array: Dense, dtype: Any) -> Dense:
    """A copy in another dtype. Collective under the name `what`."""
    known = np.dtype(dtype)
    with collective(what, array._layout, str(known)):
        made = new_array(array._layout, known)
        made.local[...] = array.local.astype(known, copy=False)
        _native.barrier()
    return made


if hasattr(np, "astype"):  # from numpy 2.1 on

    @_implements(np.astype)
    def _astype(x: Dense, dtype: Any, /, *, copy: bool = True) -> Dense:
        return x if not copy and x.dtype == np.dtype(dtype) else converted("astype", x, dtype)


@_implements(np.transpose)
def transposed(a: Dense, axes: Optional[Sequence[int]] = None) -> Dense:
    """A copy with its dimensions in another order, by default reversed. Collective."""
    order = list(range(a.ndim))[::-1] if axes is None else [axis % a.ndim for axis in axes]
    if sorted(order) != list(range(a.ndim)):
        raise Error(f"transpose with axes={axes!r} (each dimension is there once): name each of {a.ndim}")
    if len(order) == 1:
        return a
    back = [order.index(axis) for axis in range(a.ndim)]
    with collective("transpose", a._layout, str(a.dtype), order):
        made = new_array(a._layout.in_order(order), a.dtype)
        wanted = [made._own_indices(back[axis]) for axis in range(a.ndim)]
        made.local[...] = a._read_product(wanted).transpose(order)
        _native.barrier()
    return made


@_implements(np.copyto)
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
    _implements(function)(call)


for _function in (
    *(np.angle, np.around, np.fix, np.i0, np.imag, np.iscomplex, np.isneginf, np.isposinf, np.isreal),
    *(np.nan_to_num, np.real, np.round, np.sinc, np.digitize, np.isin, np.interp),
):
    _elementwise(_function)
_elementwise(np.isclose, 2)
_elementwise(np.clip, 3)


@_implements(np.where)
def _where(condition: Any, x: Any, y: Any) -> Dense:
    def where(*own: Any) -> Any:
        return np.where(*own)

    return elementwise(where, [condition, x, y])


# Reductions: methods, too.


def _without_out(what: str, out: Any) -> None:
    if out is not None:
        raise Error(
            f"{what} with out= (the result is new: a scalar, or a distributed array): leave it out, and "
            "assign() what it returns"
        )


def _reduce(
    ufunc: np.ufunc,
    array: Dense,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    what = _REDUCED[ufunc]
    _without_out(what, out)
    return reduced(what, ufunc, array, axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@_implements(np.sum)
def sum_(
    a: Dense,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The sum, of numpy's dtype for it. Collective.

    >>> from nearfetch import CyclicArray, launch
    >>> def main():
    ...     a = CyclicArray((10, 2), dtype="i1")
    ...     a.fill(100)
    ...     return a.sum(), a.sum(axis=0)[...].tolist()
    >>> launch(main, ranks=2) == [(2000, [1000, 1000])] * 2
    True
    """
    return _reduce(np.add, a, axis, dtype, out, keepdims, initial, where)


@_implements(np.prod)
def prod(
    a: Dense,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The product. Collective."""
    return _reduce(np.multiply, a, axis, dtype, out, keepdims, initial, where)


@_implements(np.min, np.amin)
def min_(
    a: Dense,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The smallest element. Collective. Raises Error where there is none."""
    return _reduce(np.minimum, a, axis, None, out, keepdims, initial, where)


@_implements(np.max, np.amax)
def max_(
    a: Dense,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The largest element. Collective. Raises Error where there is none."""
    return _reduce(np.maximum, a, axis, None, out, keepdims, initial, where)


@_implements(np.any)
def any_(a: Dense, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether any element is true. Collective."""
    return _reduce(np.logical_or, a, axis, None, out, keepdims, None, where)


@_implements(np.all)
def all_(a: Dense, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether all elements are true. Collective."""
    return _reduce(np.logical_and, a, axis, None, out, keepdims, None, where)


@_implements(np.mean)
def mean_(a: Dense, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The mean, of numpy's dtype for it. Collective.

    >>> from nearfetch import BlockArray, launch
    >>> def main():
    ...     a = BlockArray(4, dtype="i8")
    ...     a.fill(2**62)
    ...     return float(a.mean()) == 2.0**62
    >>> launch(main, ranks=2)
    [True, True]
    """
    _without_out("mean", out)
    return mean("mean", a, axis, dtype, keepdims)


@_implements(np.var)
def var(
    a: Dense, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The variance. Collective."""
    _without_out("var", out)
    return variance("var", a, axis, dtype, ddof, keepdims)


@_implements(np.std)
def std(
    a: Dense, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The standard deviation. Collective."""
    _without_out("std", out)
    return variance("std", a, axis, dtype, ddof, keepdims, finish=np.sqrt)


@_implements(np.argmin)
def argmin(a: Dense, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The position of the first smallest element, counted from 0 whatever the bounds. Collective."""
    _without_out("argmin", out)
    return arg_extreme("argmin", a, axis, keepdims)


@_implements(np.argmax)
def argmax(a: Dense, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The position of the first largest element, counted from 0 whatever the bounds. Collective."""
    _without_out("argmax", out)
    return arg_extreme("argmax", a, axis, keepdims)


@_implements(np.count_nonzero)
def _count_nonzero(a: Dense, axis: Any = None, *, keepdims: bool = False) -> Any:
    def is_not_zero(own: np.ndarray) -> np.ndarray:
        return own.astype(bool)

    return reduced("count_nonzero", np.add, a, axis, dtype=np.intp, keepdims=keepdims, prepare=is_not_zero)


@_implements(np.ptp)
def _ptp(a: Dense, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    _without_out("ptp", out)
    return max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims)


def _without_nan(name: str, ufunc: np.ufunc, instead: Any) -> None:
    def call(a: Dense, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        def prepare(own: np.ndarray) -> np.ndarray:
            return (
                own if own.dtype.kind not in "fc" else np.where(np.isnan(own), own.dtype.type(instead), own)
            )

        return reduced(name, ufunc, a, axis, dtype=dtype, keepdims=keepdims, prepare=prepare)

    _implements(getattr(np, name))(call)


_without_nan("nansum", np.add, 0)
_without_nan("nanprod", np.multiply, 1)


@_implements(np.nanmin)
def _nanmin(a: Dense, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduced("nanmin", np.fmin, a, axis, keepdims=keepdims)


@_implements(np.nanmax)
def _nanmax(a: Dense, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduced("nanmax", np.fmax, a, axis, keepdims=keepdims)


@_implements(np.histogram)
def _histogram(
    a: Dense, bins: Any = 10, range: Any = None, density: Optional[bool] = None
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(bins, str):
        raise Error(
            f"histogram with bins={bins!r} (the rule looks at all elements): give their number or edges"
        )
    if range is None and np.ndim(bins) == 0:
        range = (min_(a), max_(a))
    own, edges = np.histogram(a.local, bins, range)
    with collective("histogram", edges.tolist()):
        everyone = a._of_all_ranks("histogram", own.astype(np.int64).view(f"V{8 * own.size}"))
    counts = everyone.view(np.int64).reshape(-1, own.size).sum(axis=0)
    return (counts / counts.sum() / np.diff(edges) if density else counts), edges


# Comparisons of whole arrays: the same answer on all ranks.


@_implements(np.allclose)
def _allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(all_(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


@_implements(np.array_equal)
def _array_equal(a1: Any, a2: Any) -> bool:
    a1, a2 = (checked_operand("array_equal", one) for one in (a1, a2))
    return shape_of(a1) == shape_of(a2) and bool(all_(np.equal(a1, a2)))


# Products.


@_implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """The product of vectors, matrices and scalars. Collective."""
    if () in (np.shape(a), np.shape(b)):
        return np.multiply(a, b)
    return matmul("dot", a, b)


@_implements(np.vdot)
def _vdot(a: Any, b: Any, /) -> Any:
    return inner("vdot", a, b, np.vdot)


@_implements(np.inner)
def _inner(a: Any, b: Any, /) -> Any:
    return matmul("inner", a, np.transpose(b))


@_implements(np.outer)
def _outer(a: Any, b: Any) -> Any:
    return outer("outer", a, b)


@_implements(np.linalg.norm)
def _norm(x: Dense, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return norm("norm", x, ord, axis, keepdims)
