# SPDX-License-Identifier: Apache-2.0
"""Reductions over all elements, or over dimensions: collective, and of numpy's dtypes.

Each rank reduces its own elements. Over all dimensions one element of each rank is gathered, and every rank
combines them: a scalar on all ranks. Over some dimensions the parts' results stand in an array with one
index for each part of the grid there. Each rank reads those of the indices that it owns in the result,
which is a distributed array. So no rank holds more than its share.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Optional, Sequence

from nearfetch.dense import Dense, check_operand, checked_operand, collective, new_array, part_of, shape_of
from nearfetch.errors import Error, IndexingError
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["arg_extreme", "axes_of", "combined", "mean", "reduced", "variance"]

Columns = Sequence[np.ndarray]
"""Results of the parts that have elements, along the last axis."""


def reduced(
    what: str,
    ufunc: np.ufunc,
    array: Dense,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    prepare: Callable[[np.ndarray], np.ndarray] = lambda own: own,
    finish: Callable[[np.ndarray], np.ndarray] = lambda result: result,
) -> Any:
    """`ufunc.reduce` of `prepare(own elements)`; then `finish`. Collective under the name `what`.

    `ufunc` is associative and commutative. Raises Error if there is nothing to begin with: no elements
    along `axis`, no `initial`, and no identity.
    """
    axes = axes_of(array, axis)
    chosen = _chosen(what, array, where)
    # What has an identity begins with it in each part; anything else may begin with `initial` repeatedly.
    begins = {} if initial is None or ufunc.identity is not None else {"initial": initial}
    if ufunc.identity is None and initial is None:
        _check_any(what, array, axes)

    def partial() -> list[np.ndarray]:
        own = prepare(array.local)
        if ufunc.identity is None and not begins and any(own.shape[axis] == 0 for axis in axes):
            own = np.zeros(
                [1 if axis in axes else extent for axis, extent in enumerate(own.shape)], own.dtype
            )
        taken = {} if chosen is True else {"where": part_of(array, chosen)}
        return [ufunc.reduce(own, axis=axes, dtype=dtype, keepdims=True, **begins, **taken)]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        (column,) = columns
        # Sums of small integers would be of a larger dtype than they are.
        same = column.dtype if column.dtype.kind in "biu" else None
        result = ufunc.reduce(column, axis=-1, dtype=same, **begins)
        if initial is not None and not begins:
            result = ufunc(result, initial)
        return finish(result)

    return combined(what, array, axes, partial, combine, keepdims, (str(dtype), initial))


def mean(what: str, array: Dense, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean, as `numpy.mean`."""
    axes = axes_of(array, axis)
    wide = _wide(array, dtype)

    def partial() -> list[np.ndarray]:
        return [np.add.reduce(array.local, axis=axes, dtype=wide, keepdims=True)]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        total = np.add.reduce(columns[0], axis=-1, dtype=wide)
        return _narrow(array, dtype, total / int(counts.sum()))

    return combined(what, array, axes, partial, combine, keepdims, (str(dtype),))


def variance(
    what: str,
    array: Dense,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    finish: Callable[[np.ndarray], np.ndarray] = lambda result: result,
) -> Any:
    """The variance, as `numpy.var`; then `finish`.

    Each part has its sum and the squares of the distances from its own mean. They are combined after Chan,
    Golub and LeVeque, *Algorithms for Computing the Sample Variance*, 1983.
    """
    axes = axes_of(array, axis)
    wide = _wide(array, dtype)

    def partial() -> list[np.ndarray]:
        own = np.asarray(array.local, wide)
        count = max(1, int(np.prod([own.shape[axis] for axis in axes])))
        total = np.add.reduce(own, axis=axes, keepdims=True)
        far = own - total / count
        squares = far.real**2 + far.imag**2 if far.dtype.kind == "c" else far * far
        return [total, np.add.reduce(squares, axis=axes, keepdims=True)]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        totals, squares = columns
        known = counts.astype(squares.dtype)
        middle = np.add.reduce(totals, axis=-1, keepdims=True) / known.sum()
        far = np.abs(totals / known - middle)
        everything = np.add.reduce(squares + known * far * far, axis=-1)
        result = everything / max(float(counts.sum()) - ddof, 0)
        return finish(_narrow(array, dtype, result))

    return combined(what, array, axes, partial, combine, keepdims, (str(dtype), ddof))


def arg_extreme(what: str, array: Dense, axis: Optional[int] = None, keepdims: bool = False) -> Any:
    """The position of the first extreme, as `numpy.argmin` and `numpy.argmax`. `what` is one of these."""
    axes = axes_of(array, axis if axis is None else operator.index(axis))
    _check_any(what, array, axes)
    extreme = {"argmin": np.minimum, "argmax": np.maximum}[what]

    def partial() -> list[np.ndarray]:
        own = array.local
        if any(own.shape[axis] == 0 for axis in axes):
            shape = [1 if axis in axes else extent for axis, extent in enumerate(own.shape)]
            return [np.zeros(shape, own.dtype), np.zeros(shape, np.int64)]
        if axis is None:
            at = np.asarray(getattr(own, what)()).reshape((1,) * own.ndim)
            place = np.unravel_index(int(at.item()), own.shape)
            value = own[place].reshape(at.shape)
            index = [array.local_indices[d][place[d]] - array.bounds[d][0] for d in range(own.ndim)]
            return [value, np.ravel_multi_index(index, array.shape).astype(np.int64).reshape(at.shape)]
        at = getattr(own, what)(axis=axes[0], keepdims=True)
        index = array.local_indices[axes[0]] - array.bounds[axes[0]][0]
        return [np.take_along_axis(own, at, axes[0]), index[at]]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        values, places = columns
        best = extreme.reduce(values, axis=-1, keepdims=True)
        # NaN is an extreme, as in numpy.
        is_best = (values == best) | ((values != values) & (best != best))
        return np.where(is_best, places, np.iinfo(np.int64).max).min(axis=-1).astype(np.intp)

    return combined(what, array, axes, partial, combine, keepdims)


def combined(
    what: str,
    array: Dense,
    axes: tuple[int, ...],
    partial: Callable[[], list[np.ndarray]],
    combine: Callable[[Columns, np.ndarray], np.ndarray],
    keepdims: bool,
    arguments: tuple[Any, ...] = (),
) -> Any:
    """Combines what `partial()` makes of each rank's own elements. Collective under the name `what`.

    `partial()`: arrays of the own shape, but with one index in the dimensions `axes`. What it returns of
    ranks without elements there does not matter. `combine(columns, counts)`: the result of such arrays,
    whose last axis has the parts of the grid with elements; `counts` of elements along `axes`, of these.
    """
    counts = _counts(array, axes)
    with collective(what, array._layout, str(array.dtype), axes, keepdims, *arguments):
        if len(axes) == array.ndim:
            columns = [
                array._of_all_ranks(what, np.ascontiguousarray(own).reshape(1))[counts > 0]
                for own in partial()
            ]
            result = np.asarray(combine(columns, counts[counts > 0]))
            return result.reshape((1,) * array.ndim) if keepdims else result[()]
        return _combined_over(array, axes, partial, combine, keepdims, counts)


def _combined_over(
    array: Dense,
    axes: tuple[int, ...],
    partial: Callable[[], list[np.ndarray]],
    combine: Callable[[Columns, np.ndarray], np.ndarray],
    keepdims: bool,
    counts: np.ndarray,
) -> Dense:
    parts = array._layout.with_parts(axes)
    written = []
    for own in partial():
        written.append(new_array(parts, own.dtype))
        if written[-1].local.size:
            written[-1].local[...] = own
    some = counts > 0
    none = [np.empty((0, np.count_nonzero(some)), one.dtype) for one in written]
    result = new_array(array._layout.without(axes, keepdims), combine(none, counts[some]).dtype)
    _native.barrier()
    own = [result._own_indices(axis) for axis in range(result.ndim)]
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    own = [own[axis] for axis in kept] if keepdims else own
    wanted: list[Any] = [range(*bounds) for bounds in parts.bounds]
    for axis, indices in zip(kept, own):
        wanted[axis] = indices
    columns = []
    for one in written:
        read = one._read_product(wanted).transpose([*kept, *axes])
        columns.append(read.reshape(*read.shape[: len(kept)], len(counts))[..., some])
    if result.local.size:
        result.local[...] = combine(columns, counts[some]).reshape(result.local.shape)
    _native.barrier()
    return result


def _counts(array: Dense, axes: Sequence[int]) -> np.ndarray:
    """How many elements each part of the grid in these dimensions has along them."""
    counts = np.ones((), np.int64)
    for axis in axes:
        counts = np.multiply.outer(counts, np.array(array._extents(axis), np.int64))
    return counts.reshape(-1)


def axes_of(array: Dense, axis: Any) -> tuple[int, ...]:
    """The dimensions that numpy's `axis` names, in order. Raises IndexingError for others."""
    if axis is None:
        return tuple(range(array.ndim))
    named = [operator.index(one) for one in (axis if np.iterable(axis) else (axis,))]
    for one in named:
        if not -array.ndim <= one < array.ndim:
            raise IndexingError(
                f"axis {one} (the array has {array.ndim} dimensions): use 0 to {array.ndim - 1}"
            )
    known = sorted({one % array.ndim for one in named})
    if len(known) < len(named):
        raise Error(f"axis={axis!r} (it names a dimension twice): name each once")
    return tuple(known)


def _check_any(what: str, array: Dense, axes: Sequence[int]) -> None:
    if not all(array.shape[axis] for axis in axes):
        raise Error(f"{what} of an array without elements (it has none): use an array that has some")


def _chosen(what: str, array: Dense, where: Any) -> Any:
    if where is True:
        return True
    chosen = checked_operand(what, where)
    if isinstance(chosen, Dense) and chosen._layout != array._layout:
        raise Error(
            f"{what} with where= an array of another layout (it chooses among own elements): use one of the "
            "array's layout, such as a comparison of it"
        )
    if np.broadcast_shapes(shape_of(chosen), array.shape) != array.shape:
        raise Error(
            f"{what} with where= of shape {shape_of(chosen)} (the array has {array.shape}): use one that can "
            "be broadcast to it"
        )
    check_operand(array, chosen)
    return chosen


def _wide(array: Dense, dtype: Any) -> Any:
    """The dtype in which numpy adds for a mean; None: that of the sum."""
    if dtype is not None:
        return np.dtype(dtype)
    return "f8" if array.dtype.kind in "biu" else "f4" if array.dtype.type is np.float16 else None


def _narrow(array: Dense, dtype: Any, result: np.ndarray) -> np.ndarray:
    """The result in the dtype that was asked for, or that of half-precision elements."""
    known = array.dtype if dtype is None else np.dtype(dtype)
    is_narrow = known.type is np.float16 or (dtype is not None and known.kind != "c")
    return np.asarray(result).astype(known.newbyteorder("=")) if is_narrow else np.asarray(result)
