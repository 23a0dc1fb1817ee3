# SPDX-License-Identifier: Apache-2.0
"""`a[key] = b` with a distributed `b`. Collective: each rank reads of `b` what it is to own, and no more.

Elements belong together by their positions, as in numpy, whatever the bounds and distributions. With slices
what a rank reads is a box. With arrays of indices it finds its own among them, and reads those one by one:
at most two messages for each owner. With a distributed mask it reads what belongs to the elements of its
part of the mask, and sends that to where it is to be.
"""

from __future__ import annotations

import hashlib
from typing import Any, Optional, Sequence, Union

from nearfetch.advanced import Named, is_advanced, named_by
from nearfetch.agreement import together
from nearfetch.bulk_access import ArrayTransfer
from nearfetch.dense import BLOCK, Dense, checked_axes, checked_operand, collective, copy_between
from nearfetch.errors import Error
from nearfetch.indexing import Selection, key_of, select
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.rearranging import put_rows, read_rows
from nearfetch.selecting import check_mask, chosen_by

__all__ = ["assign_elements", "assign_masked", "copy_elements", "start_copy"]


def copy_elements(source: Dense, target: Dense, axes: Optional[Sequence[int]] = None) -> None:
    """`target.assign(source, axes)`. Collective. Raises Error as that does."""
    order = _order_of(source, target, axes)
    with collective("assign", source._layout, target._layout, str(source.dtype), order):
        copy_between(source, target, order)


def start_copy(source: Any, target: Any, axes: Optional[Sequence[int]] = None) -> ArrayTransfer:
    """`target.assign_async(source, axes)`. Collective. Raises Error as that does."""
    order = _order_of(source, target, axes)
    with collective("assign_async", source._layout, target._layout, str(source.dtype), order):
        _native.barrier()
    own = [np.empty(0, np.int64)] * source.ndim
    for axis, indices in zip(order, target.local_indices):
        own[axis] = indices
    read = source.get_async(key_of(own))

    def finish(_: Any) -> None:
        target.local[...] = read.result.transpose(order)
        with collective("the wait of assign_async"):
            _native.barrier()

    return ArrayTransfer(read, finish)


def _order_of(source: Any, target: Dense, axes: Optional[Sequence[int]]) -> list[int]:
    """The source's dimensions as the target has them. Raises Error for arrays that do not fit."""
    if not isinstance(source, Dense):
        raise Error(f"assign of a {type(source).__name__} (the source is a distributed array): use a[...] = ")
    in_order = list(range(source.ndim))
    order = in_order if axes is None else checked_axes("assign", axes, source.ndim)
    if source.dtype != target.dtype:
        raise Error(
            f"assign of {source.dtype} to {target.dtype} (elements are copied as they are): use the same "
            "dtype, or a[...] = b"
        )
    if tuple(source.bounds[axis] for axis in order) != target.bounds:
        raise Error(
            f"assign: an array of other bounds, {source.bounds} (each index gets the element of the same "
            "index): use arrays of the same bounds"
        )
    if source is target and order != in_order:
        raise Error(
            "assign: an array to itself in another order (elements are read when others are written "
            "already): use another array"
        )
    return order


def assign_elements(array: Any, key: Any, source: Dense) -> None:
    """`array[key] = source`: broadcast and converted as in numpy. Collective.

    Of an index that arrays of the key name twice the last value counts. Raises IndexingError as reading does,
    ValueError, as numpy, for shapes that do not fit, TypeError for dtypes that do not, and Error if a value
    cannot be converted: all of them in all ranks, with the array as it was.
    """
    if is_advanced(key):
        named = named_by(key, array._lower, array._upper)
        _check_shape(source, named.shape)
        said: Any = [_digest(part) for part in named.parts]
    else:
        chosen = select(key, array._lower, array._upper)
        _check_shape(source, chosen.shape)
        said = chosen.ranges
        is_whole = chosen.is_box and chosen.full_shape == array.shape
    _check_dtype(source, array)
    with collective("assignment", array._layout, source._layout, said, str(source.dtype)):
        if is_advanced(key):
            _native.barrier()
            where, values = _of_named(array, source, named)
        elif is_whole and source.bounds == array.bounds and source.dtype == array.dtype:
            copy_between(source, array)
            return
        else:
            _native.barrier()
            where, values = _of_box(array, source, chosen)
        # Nothing is written before all ranks have read.
        values = _converted(array, source, values)
        if values.size:
            array.local[where] = values
        _native.barrier()


def assign_masked(array: Any, mask: Dense, value: Any) -> None:
    """`array[mask] = value` with a distributed mask. Raises as `assign_elements` and as reading by a mask.

    A scalar is written by each rank to its own elements. Other values are collective: the mask chooses as
    many elements as there are, in the order of indices, or there is one. A numpy array is the same one in all
    ranks.
    """
    check_mask(array, mask)
    value = checked_operand("assignment", value)
    if not isinstance(value, Dense):
        value = np.asarray(value)
        if value.ndim == 0:
            np.copyto(array, value[()], where=mask)
            return
    _check_dtype(value, array)
    said = value._layout if isinstance(value, Dense) else value.shape
    with collective("assignment", array._layout, mask._layout, said, str(value.dtype)):
        chosen = chosen_by(mask, array._layout.as_blocks())
        _check_shape(value, (chosen.count,))
        if isinstance(value, Dense):
            values = _read_broadcast(value, [chosen.before])
        else:
            values = np.broadcast_to(value.reshape(-1), chosen.count)[chosen.before]
        values = _converted(array, value, values)
        if array._distribution == BLOCK:
            array.local[chosen.own] = values
        else:
            put_rows(array, np.stack(chosen.indices, axis=1), values)
        _native.barrier()


def _of_named(array: Dense, source: Dense, named: Named) -> tuple[Any, np.ndarray]:
    """The key of named elements in `local`, and their values. Those that arrays name are one axis of both."""
    kept = np.arange(int(np.prod(named.together, dtype=object)))
    inside: dict[int, np.ndarray] = {}
    for at, part in enumerate(named.parts):
        if isinstance(part, np.ndarray):
            wanted, own = np.broadcast_to(part, named.together).reshape(-1)[kept], array.local_indices[at]
            place = np.searchsorted(own, wanted)
            is_own = place < own.size
            is_own[is_own] = own[place[is_own]] == wanted[is_own]
            kept, place = kept[is_own], place[is_own]
            inside = {dimension: one[is_own] for dimension, one in inside.items()}
            inside[at] = place
    axes = len(named.sliced) + 1

    def along(axis: int, numbers: np.ndarray) -> np.ndarray:
        return numbers.reshape((-1,) + (1,) * (axes - 1 - axis))

    where: list[Any] = [None] * array.ndim
    coordinates = []
    for dimension, numbers in inside.items():
        where[dimension] = along(named.before, numbers)
    for number, dimension in enumerate(named.sliced):
        axis = number + (number >= named.before)
        own, positions = _own_places(array, dimension, named.parts[dimension])
        where[dimension] = along(axis, own)
        coordinates.append(along(axis, positions))
    coordinates[named.before : named.before] = [
        along(named.before, one) for one in np.unravel_index(kept, named.together)
    ]
    return tuple(where), _read_broadcast(source, coordinates)


def _of_box(array: Dense, source: Dense, chosen: Selection) -> tuple[Any, np.ndarray]:
    """The key of selected elements in `local`, and their values."""
    places = [_own_places(array, at, one) for at, one in enumerate(chosen.ranges)]
    positions = [one for _, one in places]
    values = np.empty(0, source.dtype)
    if all(one.size for one in positions):
        values = _values(source, chosen, positions)
    return key_of([own for own, _ in places]), values


def _check_shape(source: Any, shape: tuple[int, ...]) -> None:
    given = source.shape
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast an array of shape {source.shape} into the shape {shape} of the key: "
            "use one that fits"
        )


def _check_dtype(source: Any, array: Dense) -> None:
    if not np.can_cast(source.dtype, array.dtype, "unsafe"):
        raise TypeError(
            f"an assignment of {source.dtype} to {array.dtype} (numpy does not convert these): use a "
            "field, or another dtype"
        )


def _converted(array: Dense, source: Any, values: np.ndarray) -> np.ndarray:
    """Values that were read, in the array's dtype. All ranks have read when it returns. In a collective."""
    if source.dtype == array.dtype or source.dtype.kind not in "SUV":
        if source is array:
            _native.barrier()
        return values.astype(array.dtype, copy=False)
    converted = []
    together(
        "assignment",
        lambda: converted.append(values.astype(array.dtype)),
        "nothing was written; assign values that can be converted",
    )
    return converted[0]


def _digest(part: Union[range, np.ndarray]) -> Any:
    """What is the same in all ranks if the indices are."""
    if isinstance(part, range):
        return part
    return part.shape, hashlib.blake2b(np.ascontiguousarray(part), digest_size=16).hexdigest()


def _own_places(array: Dense, dimension: int, named: range) -> tuple[np.ndarray, np.ndarray]:
    """Which of own indices a range names, counted from 0, and their positions in it."""
    own = array.local_indices[dimension]
    positions, rest = np.divmod(own - named.start, named.step)
    at = np.flatnonzero((rest == 0) & (positions >= 0) & (positions < len(named)))
    return at, positions[at]


def _read_broadcast(source: Dense, coordinates: Sequence[np.ndarray]) -> np.ndarray:
    """The elements at these positions, which broadcast together. A broadcast one is read once."""
    shape = np.broadcast_shapes(*(one.shape for one in coordinates))
    if 0 in shape:
        return np.empty(shape, source.dtype)
    beyond, columns = source.ndim - len(coordinates), []
    for axis, (first, _) in enumerate(source.bounds):
        is_one = axis < beyond or source.shape[axis] == 1
        columns.append(first + (np.int64(0) if is_one else coordinates[axis - beyond]))
    known = np.broadcast_arrays(*columns)
    found = read_rows(source, np.stack([one.reshape(-1) for one in known], axis=1))
    return np.broadcast_to(found.reshape(known[0].shape), shape)


def _values(source: Dense, chosen: Selection, positions: Sequence[np.ndarray]) -> np.ndarray:
    """What belongs to own elements at these positions of each dimension; each has some."""
    kept = [at for at, is_kept in enumerate(chosen.kept) if is_kept]
    beyond = source.ndim - len(kept)
    wanted = [np.zeros(1, np.int64)] * source.ndim
    turned, shape = [slice(None)] * source.ndim, [1] * len(positions)
    for axis in range(max(beyond, 0), source.ndim):
        at = kept[axis - beyond]
        if source.shape[axis] != 1:
            # Read in ascending order.
            descends = chosen.ranges[at].step < 0
            wanted[axis] = positions[at][::-1] if descends else positions[at]
            turned[axis] = slice(None, None, -1 if descends else 1)
            shape[at] = positions[at].size
    wanted = [one + first for one, (first, _) in zip(wanted, source.bounds)]
    return source[key_of(wanted)][tuple(turned)].reshape(shape)
