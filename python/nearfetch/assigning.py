# SPDX-License-Identifier: Apache-2.0
"""`a[key] = b` with a distributed `b`. Collective: each rank reads of `b` what it is to own, and no more.

Elements belong together by their positions, as in numpy, whatever the bounds and distributions.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from nearfetch.advanced import is_advanced
from nearfetch.bulk_access import ArrayTransfer
from nearfetch.dense import Dense, checked_axes, collective, copy_between
from nearfetch.errors import Error, IndexingError
from nearfetch.indexing import Selection, key_of, select
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["assign_elements", "copy_elements", "start_copy"]


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

    Raises IndexingError for keys that are not of integers, slices and an ellipsis, ValueError, as numpy, for
    shapes that do not fit.
    """
    if isinstance(key, Dense):
        array._put_masked(key, source)
        return
    if is_advanced(key):
        raise IndexingError(
            "a distributed value for an index by arrays (which rank has which element is not known without "
            "asking): use slices, or np.asarray() of the value"
        )
    chosen = select(key, array._lower, array._upper)
    _check_shape(source, chosen)
    is_whole = chosen.is_box and chosen.full_shape == array.shape
    with collective("assignment", array._layout, source._layout, chosen.ranges, str(source.dtype)):
        if is_whole and source.bounds == array.bounds and source.dtype == array.dtype:
            copy_between(source, array)
            return
        _native.barrier()
        places = [_own_places(array, at, one) for at, one in enumerate(chosen.ranges)]
        values = _values(source, chosen, [positions for _, positions in places])
        if source is array:
            _native.barrier()  # before anything of it is written
        if values is not None:
            array.local[key_of([own for own, _ in places])] = values
        _native.barrier()


def _check_shape(source: Dense, chosen: Selection) -> None:
    given = source.shape
    while len(given) > len(chosen.shape) and given[0] == 1:
        given = given[1:]
    try:
        fits = np.broadcast_shapes(given, chosen.shape) == chosen.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast an array of shape {source.shape} into the shape {chosen.shape} of the key: "
            "use one that fits"
        )


def _own_places(array: Dense, dimension: int, named: range) -> tuple[np.ndarray, np.ndarray]:
    """Which of own indices a range names, counted from 0, and their positions in it."""
    own = array.local_indices[dimension]
    positions, rest = np.divmod(own - named.start, named.step)
    at = np.flatnonzero((rest == 0) & (positions >= 0) & (positions < len(named)))
    return at, positions[at]


def _values(source: Dense, chosen: Selection, positions: Sequence[np.ndarray]) -> Optional[np.ndarray]:
    """What belongs to own elements at these positions of each dimension; None if that is nothing."""
    if not all(one.size for one in positions):
        return None
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
