# SPDX-License-Identifier: Apache-2.0
"""numpy's reductions of distributed arrays, and the methods of the same names. All are collective.

They have numpy's arguments, which are taken from numpy. Over all dimensions the result is a scalar on all
ranks, with `keepdims` a numpy array. Over some dimensions it is a distributed array.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional

from nearfetch.dense import Dense, check_operand, checked_operand, collective, part_of, shape_of
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.reductions import Over, arg_extreme, mean, reduced, rows_of_all, variance

__all__ = ["REDUCED", "all_", "any_", "argmax", "argmin", "max_", "mean_", "min_", "prod", "reduce", "std"]
__all__ += ["sum_", "var"]

REDUCED = {
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

_DEFAULTS = {"keepdims": False, "where": True}
"""Of arguments for which numpy has a mark of its own; None for others."""


def _reduction(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers `implementation(array, over, **more)` with the arguments of the first function."""
    known = inspect.signature(functions[0])
    parameters = [
        one.replace(default=_DEFAULTS.get(one.name)) if one.default is np._NoValue else one
        for one in known.parameters.values()
    ]
    signature = known.replace(parameters=parameters)
    first, *others = signature.parameters

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(implementation)
        def call(*args: Any, **words: Any) -> Any:
            # A bind takes longer than a small reduction.
            is_plain = len(args) == 1 and words.keys() <= set(others)
            given = {**words, first: args[0]} if is_plain else signature.bind(*args, **words).arguments
            array = given.pop(first)
            over = Over(**{word: given.pop(word) for word in Over._fields if word in given})
            return implementation(array, over, **given)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return implements(*functions)(call)

    return register


def reduce(ufunc: np.ufunc, array: Dense, **more: Any) -> Any:
    """`ufunc.reduce` of one of `REDUCED`. Collective. Raises TypeError for arguments that it has not."""
    return reduced(REDUCED[ufunc], ufunc, array, Over(**{"axis": 0, **more}))


@_reduction(np.sum)
def sum_(array: Dense, over: Over) -> Any:
    """The sum, of numpy's dtype for it. Collective.

    >>> from nearfetch import CyclicArray, launch
    >>> def main():
    ...     a = CyclicArray((10, 2), dtype="i1")
    ...     a.fill(100)
    ...     return a.sum(), a.sum(axis=0)[...].tolist(), a.sum(where=[True, False])
    >>> launch(main, ranks=2) == [(2000, [1000, 1000], 1000)] * 2
    True
    """
    return reduced("sum", np.add, array, over)


@_reduction(np.prod)
def prod(array: Dense, over: Over) -> Any:
    """The product. Collective."""
    return reduced("prod", np.multiply, array, over)


@_reduction(np.min, np.amin)
def min_(array: Dense, over: Over) -> Any:
    """The smallest element. Collective. Raises Error if there is none, or `where` and no `initial`."""
    return reduced("min", np.minimum, array, over)


@_reduction(np.max, np.amax)
def max_(array: Dense, over: Over) -> Any:
    """The largest element. Collective. Raises Error if there is none, or `where` and no `initial`."""
    return reduced("max", np.maximum, array, over)


@_reduction(np.any)
def any_(array: Dense, over: Over) -> Any:
    """Whether any element is true. Collective."""
    return reduced("any", np.logical_or, array, over)


@_reduction(np.all)
def all_(array: Dense, over: Over) -> Any:
    """Whether all elements are true. Collective."""
    return reduced("all", np.logical_and, array, over)


@_reduction(np.mean)
def mean_(array: Dense, over: Over) -> Any:
    """The mean, of numpy's dtype for it. Collective.

    >>> from nearfetch import BlockArray, launch
    >>> def main():
    ...     a = BlockArray(4, dtype="i8")
    ...     a.fill(2**62)
    ...     return float(a.mean()) == 2.0**62
    >>> launch(main, ranks=2)
    [True, True]
    """
    return mean("mean", array, over)


@_reduction(np.var)
def var(array: Dense, over: Over, **more: Any) -> Any:
    """The variance. Collective. Raises Error for a `mean` that is given."""
    return variance("var", array, over, _freedom("var", **more))


@_reduction(np.std)
def std(array: Dense, over: Over, **more: Any) -> Any:
    """The standard deviation. Collective. Raises Error for a `mean` that is given."""
    return variance("std", array, over, _freedom("std", **more), np.sqrt)


def _freedom(what: str, ddof: float = 0, correction: Optional[float] = None, mean: Any = None) -> float:
    if mean is not None:
        raise Error(f"{what} with mean= (each part is taken from its own mean): leave it out")
    if correction is not None and ddof != 0:
        raise Error(f"{what} with ddof= and correction= (they are the same): give one of them")
    return ddof if correction is None else correction


@_reduction(np.argmin)
def argmin(array: Dense, over: Over) -> Any:
    """The position of the first smallest element, counted from 0 whatever the bounds. Collective."""
    return arg_extreme("argmin", array, over)


@_reduction(np.argmax)
def argmax(array: Dense, over: Over) -> Any:
    """The position of the first largest element, counted from 0 whatever the bounds. Collective."""
    return arg_extreme("argmax", array, over)


@_reduction(np.count_nonzero)
def _count_nonzero(array: Dense, over: Over) -> Any:
    def is_not_zero(own: np.ndarray) -> np.ndarray:
        return own.astype(bool)

    return reduced("count_nonzero", np.add, array, over._replace(dtype=np.intp), prepare=is_not_zero)


@_reduction(np.ptp)
def _ptp(array: Dense, over: Over) -> Any:
    highest, lowest = (
        reduced("ptp", ufunc, array, over._replace(out=None)) for ufunc in (np.maximum, np.minimum)
    )
    if over.out is None:
        return np.subtract(highest, lowest)
    with collective("ptp", array._layout, str(array.dtype)):
        np.subtract(highest, lowest, out=over.out)
        _native.barrier()
    return over.out


@implements(np.average)
def _average(a: Dense, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return mean_(a, axis=axis, keepdims=keepdims)
    weights = checked_operand("average", weights)
    if isinstance(weights, np.ndarray) and weights.ndim == 1 < a.ndim and np.ndim(axis) == 0:
        if axis is None:
            raise Error(f"average of {a.ndim} dimensions by a vector (it weighs along an axis): give axis=")
        weights = weights.reshape([-1 if at == axis % a.ndim else 1 for at in range(a.ndim)])
    floating = a.dtype if a.dtype.kind in "fc" else np.dtype(float)
    weighted = np.multiply(a, weights, dtype=np.result_type(floating, weights.dtype))
    every = np.broadcast_to(weights, a.shape) if isinstance(weights, Dense) else weights
    total = np.sum(every, axis=axis, keepdims=keepdims)
    if np.any(total == 0):
        raise Error("average by weights that add up to 0 (it divides by the sum): use others")
    return sum_(weighted, axis=axis, keepdims=keepdims) / total


# Without elements that are no number.


def _without_nan(name: str, ufunc: np.ufunc, instead: Any = None) -> None:
    """`instead`: what takes the place of NaN; None: the ufunc leaves NaN out."""

    @_reduction(getattr(np, name))
    def call(array: Dense, over: Over) -> Any:
        def prepare(own: np.ndarray) -> np.ndarray:
            if instead is None or own.dtype.kind not in "fc":
                return own
            return np.where(np.isnan(own), own.dtype.type(instead), own)

        return reduced(name, ufunc, array, over, prepare=prepare)


_without_nan("nansum", np.add, 0)
_without_nan("nanprod", np.multiply, 1)
_without_nan("nanmin", np.fmin)
_without_nan("nanmax", np.fmax)


def _over_numbers(array: Dense, over: Over) -> Over:
    """`where` leaves out what is no number, too."""
    if array.dtype.kind not in "fc":
        return over
    numbers = np.logical_not(np.isnan(array))
    return over._replace(where=numbers if over.where is True else np.logical_and(numbers, over.where))


@_reduction(np.nanmean)
def _nanmean(array: Dense, over: Over) -> Any:
    return mean("nanmean", array, _over_numbers(array, over))


@_reduction(np.nanvar)
def _nanvar(array: Dense, over: Over, **more: Any) -> Any:
    return variance("nanvar", array, _over_numbers(array, over), _freedom("nanvar", **more))


@_reduction(np.nanstd)
def _nanstd(array: Dense, over: Over, **more: Any) -> Any:
    return variance("nanstd", array, _over_numbers(array, over), _freedom("nanstd", **more), np.sqrt)


# Frequencies: the same numpy arrays on all ranks.


@implements(np.histogram)
def _histogram(
    a: Dense, bins: Any = 10, range: Any = None, density: Optional[bool] = None, weights: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(bins, str):
        raise Error(
            f"histogram with bins={bins!r} (the rule looks at all elements): give their number or edges"
        )
    _check_weights("histogram", a, weights)
    if range is None and np.ndim(bins) == 0:
        range = (min_(a), max_(a))
    edges = np.histogram_bin_edges(np.empty(0, a.dtype), bins, range)
    with collective("histogram", a._layout, edges.tolist(), weights is None):
        own, _ = np.histogram(a.local, bins, range, weights=_own_weights(a, weights))
        counts = rows_of_all("histogram", a, own).sum(axis=0, dtype=own.dtype)
    return (counts / counts.sum() / np.diff(edges) if density else counts), edges


@implements(np.bincount)
def _bincount(x: Dense, /, weights: Any = None, minlength: int = 0) -> np.ndarray:
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise Error(f"bincount of {x.dtype} {x.shape} (it counts the whole numbers of a vector): use such")
    _check_weights("bincount", x, weights)
    if x.size and min_(x) < 0:
        raise Error("bincount of negative numbers (it counts from 0): add what is missing")
    length = max(minlength, int(max_(x)) + 1 if x.size else 0)
    with collective("bincount", x._layout, length, weights is None):
        own = np.bincount(x.local, _own_weights(x, weights), minlength=length)
        return rows_of_all("bincount", x, own).sum(axis=0)


def _check_weights(what: str, array: Dense, weights: Any) -> None:
    if weights is None:
        return
    if shape_of(checked_operand(what, weights)) != array.shape:
        raise Error(
            f"{what} with weights= of shape {np.shape(weights)} (there is one for each element, "
            f"{array.shape}): use as many"
        )
    check_operand(array, weights)


def _own_weights(array: Dense, weights: Any) -> Any:
    """Those of own elements. In a collective."""
    if isinstance(weights, Dense):
        _native.barrier()
    return None if weights is None else part_of(array, checked_operand("weights", weights))


# Comparisons of whole arrays: the same answer on all ranks.


@implements(np.allclose)
def _allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(all_(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


@implements(np.array_equal)
def _array_equal(a1: Any, a2: Any) -> bool:
    a1, a2 = (checked_operand("array_equal", one) for one in (a1, a2))
    return shape_of(a1) == shape_of(a2) and bool(all_(np.equal(a1, a2)))
