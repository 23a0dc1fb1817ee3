# SPDX-License-Identifier: Apache-2.0
"""Elements that a distributed mask chooses, as vectors in blocks, in numpy's order. Collective.

Each rank finds out how many chosen elements come before its own ones, and writes its own to their places:
at most two messages for each owner. The numbers before are sums along one axis after the other: those of
the row, of the rows before it, of the planes before these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nearfetch.cumulative import accumulated
from nearfetch.dense import ArrayLayout, Dense, collective, new_array, part_of, redistributed
from nearfetch.elementwise import converted, elementwise
from nearfetch.errors import Error, IndexingError
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.rearranging import in_blocks, put_rows, raveled
from nearfetch.reductions import Over, reduced

__all__ = ["Chosen", "check_mask", "chosen_by", "masked", "nonzero"]


class Chosen(NamedTuple):
    """What a mask in blocks chooses."""

    own: np.ndarray
    """Flags of own elements."""
    before: np.ndarray
    """Of each own chosen element: how many chosen ones come before it."""
    count: int
    """Of all ranks."""
    indices: tuple[np.ndarray, ...]
    """Of each own chosen element, one array for each dimension."""


def masked(array: Dense, mask: Any) -> Dense:
    """`array[mask]`: a vector in blocks. Raises IndexingError for a mask of other bounds or dtype."""
    check_mask(array, mask)
    layout = array._layout.as_blocks()
    with collective("selection by a mask", array._layout, str(array.dtype), mask._layout):
        values = redistributed(array, layout)
        chosen = chosen_by(mask, layout)
        return _vector(chosen, values.local[chosen.own])


def check_mask(array: Dense, mask: Any) -> None:
    """Raises IndexingError unless the mask has booleans with the array's bounds."""
    if mask.dtype != bool or mask.bounds != array.bounds:
        raise IndexingError(
            f"an index by a {type(mask).__name__} of {mask.dtype} with the bounds {mask.bounds} (the array "
            f"has {array.bounds}): use a mask of these, or np.asarray() of it"
        )


@implements(np.nonzero)
def nonzero(a: Dense) -> tuple[Dense, ...]:
    """The indices of elements that are not zero: a vector for each dimension, counted from 0. Collective."""
    with collective("nonzero", a._layout, str(a.dtype)):
        mask = a if a.dtype == bool else converted("nonzero", a, bool)
        chosen = chosen_by(mask, a._layout.as_blocks())
        return tuple(_vector(chosen, own - first) for own, (first, _) in zip(chosen.indices, a.bounds))


@implements(np.flatnonzero)
def _flatnonzero(a: Dense) -> Dense:
    return nonzero(raveled("flatnonzero", a))[0]


@implements(np.argwhere)
def _argwhere(a: Dense) -> Dense:
    return np.stack(nonzero(a), axis=1)


@implements(np.extract)
def _extract(condition: Dense, arr: Dense) -> Dense:
    return masked(arr, condition)


@implements(np.where)
def _where(condition: Any, *values: Any) -> Any:
    if not values:
        return nonzero(condition)
    if len(values) != 2:
        raise Error("where with one value (there is one for true and one for false): give two, or none")

    def where(*own: Any) -> Any:
        return np.where(*own)

    return elementwise(where, [condition, *values])


def chosen_by(mask: Dense, blocks: ArrayLayout) -> Chosen:
    """What a mask chooses of own elements in this layout of its bounds. In a collective."""
    mask = redistributed(mask, blocks)
    before = np.zeros(mask.local.shape, np.int64)
    counts = mask
    for axis in reversed(range(mask.ndim)):
        earlier = accumulated("counts", np.add, counts, axis, np.int64)
        earlier.local[...] -= counts.local
        _native.barrier()
        before += part_of(mask, earlier)
        if axis > 0:
            counts = reduced("counts", np.add, counts, Over(axis=axis, dtype=np.int64, keepdims=True))
    own = mask.local.copy()
    count = int(reduced("counts", np.add, counts, Over(dtype=np.int64)))
    indices = tuple(one[at] for one, at in zip(mask.local_indices, np.nonzero(own)))
    return Chosen(own, before[own], count, indices)


def _vector(chosen: Chosen, values: np.ndarray) -> Dense:
    """Own values in their places of a new array. In a collective."""
    made = new_array(in_blocks((chosen.count,)), values.dtype)
    put_rows(made, chosen.before, values)
    _native.barrier()
    return made
