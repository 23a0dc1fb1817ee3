# SPDX-License-Identifier: Apache-2.0
"""New arrays with the elements of others in other places: transposed, joined, in another shape.

Each rank reads what its own part of the result needs, or, where a shape changes, writes its own elements to
where they are to be. So no rank holds more than its share. All of them are collective and make copies.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable, Optional, Sequence

from nearfetch.dense import (
    BLOCK,
    ArrayLayout,
    Dense,
    checked_axes,
    checked_operand,
    collective,
    copy_between,
    first_dense,
    new_array,
    part_of,
)
from nearfetch.elements import bytes_of
from nearfetch.errors import Error
from nearfetch.indexing import key_of
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.reductions import axes_of

__all__ = ["in_blocks", "made_from", "own_places", "put_rows", "raveled", "read_product", "read_rows"]
__all__ += ["reshaped", "squeezed", "transposed"]

_PORTION_BYTES = 8 << 20
"""Of so many rows of the own part the new places are in memory at a time."""


@implements(np.transpose)
def transposed(a: Dense, axes: Optional[Sequence[int]] = None) -> Dense:
    """A copy with its dimensions in another order, by default reversed. Collective."""
    order = checked_axes("transpose", range(a.ndim)[::-1] if axes is None else axes, a.ndim)
    if len(order) == 1:
        return a
    layout = a._layout.in_order(order)
    if a._distribution == BLOCK:
        with collective("transpose", a._layout, str(a.dtype), order):
            made = new_array(layout, a.dtype)
            copy_between(a, made, order)
        return made

    def read(made: Dense) -> np.ndarray:
        wanted = [made._own_indices(order.index(axis)) for axis in range(a.ndim)]
        return a._read_product(wanted).transpose(order)

    return made_from("transpose", a, layout, read, order)


@implements(np.swapaxes)
def _swapaxes(a: Dense, axis1: int, axis2: int) -> Dense:
    order = list(range(a.ndim))
    (first,), (second,) = axes_of(a, axis1), axes_of(a, axis2)
    order[first], order[second] = second, first
    return transposed(a, order)


@implements(np.moveaxis)
def _moveaxis(a: Dense, source: Any, destination: Any) -> Dense:
    # numpy's own rule, of an array with the same number of dimensions and no elements.
    numbered = np.empty(range(a.ndim))
    return transposed(a, np.moveaxis(numbered, source, destination).shape)


if hasattr(np, "matrix_transpose"):  # from numpy 2.0 on

    @implements(np.matrix_transpose)
    def _matrix_transpose(x: Dense, /) -> Dense:
        return _swapaxes(x, -1, -2)


@implements(np.concatenate)
def _concatenate(
    arrays: Sequence[Any], /, axis: Optional[int] = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Dense:
    if axis is None:
        raise Error("concatenate with axis=None (each would be a vector): give the arrays' ravel()")
    given, model = _joined(arrays)
    (along,) = axes_of(model, axis)
    _check_alike("concatenate", given, model, along)
    ends = np.cumsum([one.shape[along] for one in given]).tolist()

    def write(made: Dense) -> None:
        places = own_places(made)
        for one, end in zip(given, ends):
            first = end - one.shape[along]
            at = np.flatnonzero((places[along] >= first) & (places[along] < end))
            if at.size:
                wanted = [*places[:along], places[along][at] - first, *places[along + 1 :]]
                made.local[(slice(None),) * along + key_of([at])] = _read_places(one, wanted)

    first = model.bounds[along][0]
    layout = model._layout.with_bounds(along, (first, first + ends[-1]))
    kind = _joint_dtype(given, dtype, casting)
    return filled_by("concatenate", model, layout, kind, write, along, [_said(one) for one in given])


@implements(np.stack)
def _stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Dense:
    given, model = _joined(arrays)
    _check_alike("stack", given, model)
    return _stacked("stack", given, model, axis, _joint_dtype(given, dtype, casting))


def _stacked(what: str, given: Sequence[Any], model: Dense, axis: int, dtype: Any) -> Dense:
    along = _new_axis(what, axis, model.ndim)

    def write(made: Dense) -> None:
        places = own_places(made)
        del places[along]
        for number, one in enumerate(given):
            made.local[(slice(None),) * along + (number,)] = _read_places(one, places)

    layout = model._layout.with_axis(along, len(given))
    return filled_by(what, model, layout, dtype, write, along, [_said(one) for one in given])


@implements(np.hstack)
def _hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Dense:
    axis = 0 if _joined(tup)[1].ndim == 1 else 1
    return _concatenate(tup, axis, dtype=dtype, casting=casting)


@implements(np.vstack)
def _vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Dense:
    join = _stack if _joined(tup)[1].ndim == 1 else _concatenate
    return join(tup, 0, dtype=dtype, casting=casting)


@implements(np.expand_dims)
def _expand_dims(a: Dense, axis: Any) -> Dense:
    dimensions = a.ndim + np.size(axis)
    for one in sorted(_new_axis("expand_dims", each, dimensions - 1) for each in np.atleast_1d(axis)):
        a = _stacked("expand_dims", [a], a, one, a.dtype)
    return a


def _new_axis(what: str, axis: int, dimensions: int) -> int:
    along = operator.index(axis)
    if not -dimensions - 1 <= along <= dimensions:
        raise Error(f"{what} with axis={axis} (the result has {dimensions + 1} dimensions): use one of them")
    return along % (dimensions + 1)


@implements(np.squeeze)
def squeezed(a: Dense, axis: Any = None) -> Any:
    """A copy without dimensions of one index; the element where there are no others. Collective."""
    axes = tuple(at for at in range(a.ndim) if a.shape[at] == 1) if axis is None else axes_of(a, axis)
    if any(a.shape[at] != 1 for at in axes):
        raise Error(f"squeeze with axis={axis} (the array has the shape {a.shape}): name those of one index")
    if len(axes) == a.ndim:
        return a[tuple(first for first, _ in a.bounds)]

    def read(made: Dense) -> np.ndarray:
        own = iter(made.local_indices)
        wanted = [np.array([a.bounds[at][0]]) if at in axes else next(own) for at in range(a.ndim)]
        return read_product(a, wanted).reshape(made.local.shape)

    return made_from("squeeze", a, a._layout.without(axes, False), read, axes)


@implements(np.broadcast_to)
def _broadcast_to(array: Dense, shape: Any) -> Dense:
    wanted = tuple(np.atleast_1d(shape).tolist())
    if wanted == array.shape:
        return array
    if np.broadcast_shapes(array.shape, wanted) != wanted:
        raise Error(
            f"broadcast_to of the shape {array.shape} to {wanted} (it does not fit): use one that does"
        )
    return made_from("broadcast_to", array, in_blocks(wanted), lambda made: part_of(made, array))


@implements(np.broadcast_arrays)
def _broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(np.shape(one) for one in args))
    return tuple(np.broadcast_to(one, shape) for one in args)


@implements(np.reshape)
def reshaped(a: Dense, /, shape: Any, order: str = "C", *, copy: Optional[bool] = None) -> Dense:
    """A copy in another shape, in blocks: elements keep their order by indices. Collective."""
    if copy is not None and not copy:
        raise ValueError("reshape without a copy (elements go to the ranks that own them): leave copy out")
    if order != "C":
        raise Error(f"reshape in the order {order!r} (elements are in the order of indices): use 'C'")
    wanted = [operator.index(extent) for extent in (shape if np.iterable(shape) else (shape,))]
    if wanted.count(-1) == 1:
        others = -int(np.prod(wanted, dtype=object))
        wanted[wanted.index(-1)] = a.size // others if others else 0
    if min(wanted, default=0) < 0 or int(np.prod(wanted, dtype=object)) != a.size:
        raise Error(f"reshape to {shape} (the array has {a.size} elements): use a shape of as many")
    return _reshaped("reshape", a, tuple(wanted))


@implements(np.ravel)
def _ravel(a: Dense, order: str = "C") -> Dense:
    return reshaped(a, -1, order)


def raveled(what: str, array: Dense) -> Dense:
    """The elements in index order as a vector in blocks. Collective under the name `what`."""
    return _reshaped(what, array, (array.size,))


def _reshaped(what: str, array: Dense, shape: tuple[int, ...]) -> Dense:
    if not 1 <= len(shape) <= 4:
        raise Error(f"{what} to {len(shape)} dimensions (arrays have 1 to 4): use as many")
    strides = [int(np.prod(array.shape[at + 1 :], dtype=object)) for at in range(array.ndim)]
    numbers = [one * stride for one, stride in zip(own_places(array), strides)]

    def write(made: Dense) -> None:
        own, within = array.local, functools.reduce(np.add.outer, numbers[1:], np.zeros((), np.int64))
        step = max(1, _PORTION_BYTES // max(1, within.size * array.dtype.itemsize))
        for first in range(0, len(own), step):
            number = np.add.outer(numbers[0][first : first + step], within).reshape(-1)
            rows = np.stack(np.unravel_index(number, shape), axis=1) if len(shape) > 1 else number
            put_rows(made, rows, own[first : first + step])

    return filled_by(what, array, in_blocks(shape), array.dtype, write, shape)


def in_blocks(shape: Sequence[int]) -> ArrayLayout:
    """The layout of a new array in blocks, on a balanced grid."""
    bounds = tuple((0, int(extent)) for extent in shape)
    return ArrayLayout(BLOCK, bounds, tuple(_native.balanced_grid(len(bounds))), ())


def put_rows(made: Dense, rows: np.ndarray, values: np.ndarray) -> None:
    """Writes values one by one; the rows are their indices, of one number for each dimension. One-sided."""
    if values.size:
        packed = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(values)
        made._native.put([], [], [], *(bytes_of(one) for one in packed))


def read_rows(array: Dense, rows: np.ndarray) -> np.ndarray:
    """The elements at these indices, of one number for each dimension. One-sided."""
    found = np.empty(len(rows), array.dtype)
    if found.size:
        array._native.get([], [], [], bytes_of(np.ascontiguousarray(rows, np.int64)), bytes_of(found))
    return found


def made_from(
    what: str,
    array: Dense,
    layout: ArrayLayout,
    read: Callable[[Dense], np.ndarray],
    *said: Any,
    dtype: Any = None,
) -> Dense:
    """A new array with what `read(new array)` gives in each rank. Collective under the name `what`."""

    def write(made: Dense) -> None:
        if made.local.size:
            made.local[...] = read(made)

    return filled_by(what, array, layout, array.dtype if dtype is None else dtype, write, *said)


def filled_by(
    what: str, array: Dense, layout: ArrayLayout, dtype: Any, write: Callable[[Dense], None], *said: Any
) -> Dense:
    """A new array to which each rank writes its part. Collective under the name `what`."""
    with collective(what, array._layout, str(array.dtype), layout, str(dtype), *said):
        made = new_array(layout, dtype)
        _native.barrier()
        write(made)
        _native.barrier()
    return made


def read_product(array: Dense, indices: Sequence[np.ndarray]) -> np.ndarray:
    """The elements at all combinations of indices, which ascend in each dimension. One-sided."""
    return array[key_of(indices)]


def own_places(array: Dense) -> list[np.ndarray]:
    """Own indices, counted from 0 whatever the bounds."""
    return [own - first for own, (first, _) in zip(array.local_indices, array.bounds)]


def _joined(arrays: Sequence[Any]) -> tuple[list[Any], Dense]:
    """The operands, and the first distributed one, whose layout the result has."""
    given = [checked_operand("an array to be joined", one) for one in arrays]
    given = [one if isinstance(one, Dense) else np.asarray(one) for one in given]
    model = first_dense(given)
    assert model is not None
    return given, model


def _joint_dtype(given: Sequence[Any], dtype: Any, casting: str) -> np.dtype:
    return np.concatenate([np.empty(0, one.dtype) for one in given], dtype=dtype, casting=casting).dtype


def _check_alike(what: str, given: Sequence[Any], model: Dense, but: Optional[int] = None) -> None:
    """Raises Error if arrays have other indices in a dimension than the first one."""
    for one in given:
        is_dense = isinstance(one, Dense)
        known, expected = (one.bounds, model.bounds) if is_dense else (one.shape, model.shape)
        if len(known) != len(expected) or any(
            known[at] != expected[at] for at in range(len(known)) if at != but
        ):
            raise Error(
                f"{what} of arrays of the {'bounds' if is_dense else 'shapes'} {expected} and {known} (they "
                "are put side by side): use the same ones in the other dimensions"
            )


def _said(operand: Any) -> Any:
    return operand._layout if isinstance(operand, Dense) else operand.shape


def _read_places(operand: Any, places: Sequence[np.ndarray]) -> np.ndarray:
    """The operand's elements at these indices, counted from 0."""
    if isinstance(operand, Dense):
        return read_product(operand, [one + first for one, (first, _) in zip(places, operand.bounds)])
    return operand[key_of(places)]
