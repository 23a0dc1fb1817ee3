# SPDX-License-Identifier: Apache-2.0
"""Reductions over all elements, or over dimensions: collective, and of numpy's dtypes.

Each rank reduces its own elements. Over all dimensions one element of each rank is gathered, and every rank
combines them: a scalar on all ranks. Over some dimensions the parts' results stand in an array with one
index for each part of the grid there. Each rank reads those of the indices that it owns in the result,
which is a distributed array. So no rank holds more than its share.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple, Optional, Sequence

from nearfetch.dense import (
    ArrayLayout,
    Dense,
    check_operand,
    checked_operand,
    collective,
    new_array,
    part_of,
    shape_of,
)
from nearfetch.errors import Error, IndexingError
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["Over", "arg_extreme", "axes_of", "combined", "mean", "reduced", "rows_of_all", "variance"]

Columns = Sequence[np.ndarray]
"""Results of the parts that have elements, along the last axis."""


class Over(NamedTuple):
    """numpy's arguments of a reduction.

    `where`: True, or what can be broadcast to the array: a numpy array or a distributed one. `out`: for a
    scalar a numpy array without dimensions, else a distributed array with the result's bounds.
    """

    axis: Any = None
    dtype: Any = None
    out: Any = None
    keepdims: bool = False
    initial: Any = None
    where: Any = True


def reduced(
    what: str,
    ufunc: np.ufunc,
    array: Dense,
    over: Over,
    *,
    prepare: Callable[[np.ndarray], np.ndarray] = lambda own: own,
    finish: Callable[[np.ndarray], np.ndarray] = lambda result: result,
) -> Any:
    """`ufunc.reduce` of `prepare(own elements)`; then `finish`. Collective under the name `what`.

    `ufunc` is associative and commutative. Raises Error if there is nothing to begin with: no elements
    along the axis, or perhaps none that `where` leaves, no `initial`, and no identity.
    """
    axes, initial, dtype = axes_of(array, over.axis), over.initial, over.dtype
    if dtype is None and over.out is not None and ufunc in (np.add, np.multiply):
        dtype = over.out.dtype
    # What has an identity begins with it in each part; anything else may begin with `initial` repeatedly.
    begins = {} if initial is None or ufunc.identity is not None else {"initial": initial}
    if ufunc.identity is None and initial is None:
        _check_any(what, array, axes, over.where)

    def partial(chosen: Any) -> list[np.ndarray]:
        own = prepare(array.local)
        if ufunc.identity is None and not begins and any(own.shape[axis] == 0 for axis in axes):
            own = np.zeros(
                [1 if axis in axes else extent for axis, extent in enumerate(own.shape)], own.dtype
            )
        return [ufunc.reduce(own, axis=axes, dtype=dtype, keepdims=True, where=chosen, **begins)]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        (column,) = columns
        # Sums of small integers would be of a larger dtype than they are.
        same = column.dtype if column.dtype.kind in "biu" else None
        result = ufunc.reduce(column, axis=-1, dtype=same, **begins)
        if initial is not None and not begins:
            result = ufunc(result, np.asarray(initial).astype(result.dtype))
        return finish(result)

    return combined(what, array, over, partial, combine)


def mean(what: str, array: Dense, over: Over) -> Any:
    """The mean, as `numpy.mean`."""
    axes, wide = axes_of(array, over.axis), _wide(array, over.dtype)

    def partial(chosen: Any) -> list[np.ndarray]:
        total = np.add.reduce(array.local, axis=axes, dtype=wide, keepdims=True, where=chosen)
        return [total, *_own_counts(array, axes, chosen)]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        total = np.add.reduce(columns[0], axis=-1, dtype=wide)
        result = np.asarray(total / _known_counts(columns[1:], counts).sum(axis=-1))
        return _narrow(array, over.dtype, result.astype(total.dtype, copy=False))

    return combined(what, array, over, partial, combine)


def variance(
    what: str,
    array: Dense,
    over: Over,
    ddof: float,
    finish: Callable[[np.ndarray], np.ndarray] = lambda result: result,
) -> Any:
    """The variance, as `numpy.var`; then `finish`.

    Each part has its sum and the squares of the distances from its own mean. They are combined after Chan,
    Golub and LeVeque, *Algorithms for Computing the Sample Variance*, 1983.
    """
    axes, wide = axes_of(array, over.axis), _wide(array, over.dtype)

    def partial(chosen: Any) -> list[np.ndarray]:
        own = np.asarray(array.local, wide)
        known = _own_counts(array, axes, chosen)
        count = known[0] if known else int(np.prod([own.shape[axis] for axis in axes]))
        total = np.add.reduce(own, axis=axes, keepdims=True, where=chosen)
        far = own - (total / np.maximum(count, 1)).astype(own.dtype)
        squares = far.real**2 + far.imag**2 if far.dtype.kind == "c" else far * far
        return [total, np.add.reduce(squares, axis=axes, keepdims=True, where=chosen), *known]

    def combine(columns: Columns, counts: np.ndarray) -> np.ndarray:
        totals, squares = columns[:2]
        known = _known_counts(columns[2:], counts).astype(squares.dtype)
        count = known.sum(axis=-1, keepdims=True)
        far = np.abs(totals / np.maximum(known, 1) - np.add.reduce(totals, axis=-1, keepdims=True) / count)
        everything = np.add.reduce(squares + known * far * far, axis=-1)
        result = everything / np.maximum(count[..., 0] - ddof, 0).astype(squares.dtype)
        return finish(_narrow(array, over.dtype, result))

    return combined(what, array, over, partial, combine, (ddof,))


def _own_counts(array: Dense, axes: tuple[int, ...], chosen: Any) -> list[np.ndarray]:
    """How many own elements a mask chooses along `axes`; nothing without a mask."""
    if chosen is True:
        return []
    every = np.broadcast_to(chosen, array.local.shape)
    return [np.add.reduce(every, axis=axes, dtype=np.int64, keepdims=True)]


def _known_counts(columns: Columns, counts: np.ndarray) -> np.ndarray:
    """How many elements each part has: those that a mask chooses, else all."""
    return columns[0] if columns else counts


def arg_extreme(what: str, array: Dense, over: Over) -> Any:
    """The position of the first extreme, as `numpy.argmin` and `numpy.argmax`. `what` is one of these."""
    axis = over.axis
    axes = axes_of(array, axis if axis is None else operator.index(axis))
    _check_any(what, array, axes)
    extreme = {"argmin": np.minimum, "argmax": np.maximum}[what]

    def partial(chosen: Any) -> list[np.ndarray]:
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

    return combined(what, array, over, partial, combine)


def combined(
    what: str,
    array: Dense,
    over: Over,
    partial: Callable[[Any], list[np.ndarray]],
    combine: Callable[[Columns, np.ndarray], np.ndarray],
    arguments: tuple[Any, ...] = (),
) -> Any:
    """Combines what `partial` makes of each rank's own elements. Collective under the name `what`.

    `partial(chosen)`: arrays of the own shape, but with one index in the dimensions of `over.axis`. What it
    returns of ranks without elements there does not matter. `chosen` is what `over.where` says of own
    elements. `combine(columns, counts)`: the result of such arrays, whose last axis has the parts of the
    grid with elements; `counts` of elements along the axis, of these.
    """
    axes = axes_of(array, over.axis)
    where, out = _checked_where(what, array, over.where), over.out
    wanted = array._layout.without(axes, over.keepdims) if len(axes) < array.ndim else None
    if out is not None:
        _check_out(what, out, wanted, (1,) * array.ndim if over.keepdims else ())
    counts = _counts(array, axes)
    layouts = [one._layout if isinstance(one, Dense) else None for one in (where, out)]
    said = (axes, over.keepdims, str(over.dtype), over.initial, where is True, layouts, *arguments)
    with collective(what, array._layout, str(array.dtype), *said):
        parts = partial(_own_where(array, where))
        if wanted is not None:
            return _combined_over(array, axes, parts, combine, over, wanted, counts)
        columns = [
            array._of_all_ranks(what, np.ascontiguousarray(own).reshape(1))[counts > 0] for own in parts
        ]
        result = np.asarray(combine(columns, counts[counts > 0]))
        if out is not None:
            out[...] = result.reshape(out.shape)
            return out
        return result.reshape((1,) * array.ndim) if over.keepdims else result[()]


def _combined_over(
    array: Dense,
    axes: tuple[int, ...],
    partial: list[np.ndarray],
    combine: Callable[[Columns, np.ndarray], np.ndarray],
    over: Over,
    layout: ArrayLayout,
    counts: np.ndarray,
) -> Dense:
    parts = array._layout.with_parts(axes)
    written = []
    for own in partial:
        written.append(new_array(parts, own.dtype))
        if written[-1].local.size:
            written[-1].local[...] = own
    some = counts > 0
    none = [np.empty((0, np.count_nonzero(some)), one.dtype) for one in written]
    made = combine(none, counts[some])
    result = new_array(layout, made.dtype) if over.out is None else over.out
    _native.barrier()
    own = [result._own_indices(axis) for axis in range(result.ndim)]
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    own = [own[axis] for axis in kept] if over.keepdims else own
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


def rows_of_all(what: str, array: Dense, own: np.ndarray) -> np.ndarray:
    """What each rank gives, along a new first axis. All give the same shape and dtype. In a collective."""
    packed = np.ascontiguousarray(own).reshape(-1)
    if not packed.size:
        return np.empty((_native.ranks(), *own.shape), own.dtype)
    everyone = array._of_all_ranks(what, packed.view(f"V{packed.nbytes}"))
    return everyone.view(own.dtype).reshape(-1, *own.shape)


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


def _check_any(what: str, array: Dense, axes: Sequence[int], where: Any = True) -> None:
    if where is not True:
        raise Error(f"{what} with where= (it may leave no element, and of none there is none): give initial=")
    if not all(array.shape[axis] for axis in axes):
        raise Error(f"{what} of an array without elements (it has none): use an array that has some")


def _checked_where(what: str, array: Dense, where: Any) -> Any:
    if where is True:
        return True
    chosen = checked_operand(what, where)
    if chosen is not where or np.isscalar(where):
        chosen = np.asarray(where, bool)
    elif chosen.dtype != bool:
        raise Error(
            f"{what} with where= of {chosen.dtype} (it is true or false): give a mask, as a comparison is"
        )
    if np.broadcast_shapes(shape_of(chosen), array.shape) != array.shape:
        raise Error(
            f"{what} with where= of shape {shape_of(chosen)} (the array has {array.shape}): use one that can "
            "be broadcast to it"
        )
    check_operand(array, chosen)
    return chosen


def _own_where(array: Dense, where: Any) -> Any:
    """What a mask says of own elements: True, or booleans that broadcast to them."""
    if where is True:
        return True
    if isinstance(where, Dense) and where._layout != array._layout:
        _native.barrier()
    return part_of(array, where)


def _check_out(what: str, out: Any, wanted: Optional[ArrayLayout], shape: tuple[int, ...]) -> None:
    """`wanted`: the layout of a distributed result; else it is a scalar, of `shape` in numpy."""
    if wanted is None:
        if not isinstance(out, np.ndarray) or out.shape != shape:
            raise Error(
                f"{what} with out= a {type(out).__name__} of shape {np.shape(out)} (every rank has the result"
                f"): give a numpy array of shape {shape}, or none"
            )
    elif not isinstance(out, Dense):
        raise Error(
            f"{what} with out= a {type(out).__name__} (each rank has its own elements of the result only): "
            "give a distributed array, or none"
        )
    elif out.bounds != wanted.bounds:
        raise Error(
            f"{what} with out= an array of the bounds {out.bounds} (the result has {wanted.bounds}): use one "
            "of these"
        )


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
