# SPDX-License-Identifier: Apache-2.0
"""What operations on whole arrays need of an array: its layout, its own part, and parts of operands.

An operation works on own parts. Of a numpy operand, which every rank has, a rank takes what belongs to its
own elements. Of a distributed one with another layout it fetches that, and never more.
"""

from __future__ import annotations

import hashlib
import operator
from typing import Any, ClassVar, Iterable, NamedTuple, Optional, Sequence, Union

from nearfetch.elements import Elements, bytes_of, checked_dtype, view_of
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["BLOCK", "BLOCK_CYCLIC", "CYCLIC", "ArrayLayout", "Dense", "collective", "new_array"]

BLOCK, CYCLIC, BLOCK_CYCLIC = range(3)


class ArrayLayout(NamedTuple):
    """Which rank owns which index. Arrays of the same layout have the same own indices on each rank."""

    distribution: int
    """The native side's number of the kind."""
    bounds: tuple[tuple[int, int], ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    """Of a block-cyclic distribution; empty for others."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices in each dimension."""
        return tuple(end - first for first, end in self.bounds)

    def in_order(self, axes: Sequence[int]) -> ArrayLayout:
        """With the dimensions in this order."""
        return self._replace(
            bounds=tuple(self.bounds[axis] for axis in axes),
            grid=tuple(self.grid[axis] for axis in axes),
            block=tuple(self.block[axis] for axis in axes) if self.block else (),
        )

    def with_parts(self, axes: Iterable[int]) -> ArrayLayout:
        """With one index for each part of the grid in these dimensions: each rank owns its own."""
        bounds, block = list(self.bounds), list(self.block)
        for axis in axes:
            bounds[axis] = (0, self.grid[axis])
            if block:
                block[axis] = 1
        return self._replace(bounds=tuple(bounds), block=tuple(block))

    def without(self, axes: Sequence[int], keepdims: bool) -> ArrayLayout:
        """Without these dimensions, or with one index there; the others on a balanced grid."""
        kept = [axis for axis in range(len(self.grid)) if axis not in axes]
        balanced = dict(zip(kept, _native.balanced_grid(len(kept))))
        bounds = tuple((0, 1) if axis in axes else known for axis, known in enumerate(self.bounds))
        block = tuple(1 if axis in axes else known for axis, known in enumerate(self.block))
        grid = tuple(balanced.get(axis, 1) for axis in range(len(self.grid)))
        whole = self._replace(bounds=bounds, grid=grid, block=block)
        return whole if keepdims else whole.in_order(kept)

    def with_bounds(self, axis: int, bounds: tuple[int, int]) -> ArrayLayout:
        """With other indices in a dimension."""
        return self._replace(bounds=(*self.bounds[:axis], bounds, *self.bounds[axis + 1 :]))

    def with_axis(self, axis: int, extent: int) -> ArrayLayout:
        """With one dimension more, which is not distributed."""
        return self._replace(
            bounds=(*self.bounds[:axis], (0, extent), *self.bounds[axis:]),
            grid=(*self.grid[:axis], 1, *self.grid[axis:]),
            block=(*self.block[:axis], 1, *self.block[axis:]) if self.block else (),
        )

    def as_blocks(self) -> ArrayLayout:
        """With one block per rank."""
        return self._replace(distribution=BLOCK, block=())


class Dense(Elements):
    """An array with an element for each index."""

    _kinds: ClassVar[dict[int, type]]
    """The class of each distribution."""

    _distribution: int
    _block: tuple[int, ...]
    _halo: int

    def _make(self, layout: ArrayLayout, dtype: np.dtype, halo: int = 0) -> None:
        """Zero-initialised. Collective."""
        self._dtype = dtype
        self._halo = halo
        self._lower = [first for first, _ in layout.bounds]
        self._upper = [end for _, end in layout.bounds]
        is_block_cyclic = self._distribution == BLOCK_CYCLIC
        self._block = layout.block or (len(layout.bounds) if is_block_cyclic else 0) * (1,)
        self._begin(
            _native.Array(
                self._distribution, dtype.itemsize, self._lower, self._upper, layout.grid, layout.block, halo
            )
        )

    @property
    def _layout(self) -> ArrayLayout:
        return ArrayLayout(self._distribution, self.bounds, self.grid, self._block)

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """(first, end) of each dimension's indices."""
        return tuple(zip(self._lower, self._upper))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def grid(self) -> tuple[int, ...]:
        """Ranks in each dimension."""
        return tuple(self._native.grid())

    @property
    def local(self) -> np.ndarray:
        """This rank's own elements: a writable view, indexed from 0.

        If ranks are threads it may be kept beyond the program. On MPI that is an Error.

        >>> from nearfetch import BlockArray, launch
        >>> def main():
        ...     a = BlockArray((2, 4), dtype="i4", grid=(1, 2))
        ...     a.local[...] = 7
        ...     return a.local.shape, int(a.sum())
        >>> launch(main, ranks=2)
        [((2, 2), 56), ((2, 2), 56)]
        """
        own = view_of(self._native.local(), self._dtype)
        return own.reshape(self._native.local_shape(_native.rank()))

    @property
    def local_indices(self) -> tuple[np.ndarray, ...]:
        """This rank's indices in each dimension: element (i, j) of `local` has the index (r[0][i], r[1][j]).

        >>> from nearfetch import CyclicArray, launch
        >>> launch(lambda: CyclicArray(5).local_indices[0].tolist(), ranks=2)
        [[0, 2, 4], [1, 3]]
        """
        return tuple(_numbers_of(self._own_indices(dimension)) for dimension in range(self.ndim))

    def _own_indices(self, dimension: int) -> Union[range, np.ndarray]:
        """This rank's indices in a dimension; a range if they are at regular distances."""
        if self._distribution == BLOCK:
            return range(*(self._native.local_indices(dimension) or [(0, 0)])[0])
        # There may be as many ranges as indices, and a Python tuple for each would be slow.
        first, end = self.bounds[dimension]
        parts = self.grid[dimension]
        part = int(np.unravel_index(_native.rank(), self.grid)[dimension])
        if self._distribution == CYCLIC:
            return range(first + part, end, parts)
        block = min(self._block[dimension], max(end - first, 1))
        turns = np.arange(first + part * block, end, parts * block)
        own = turns[:, np.newaxis] + np.arange(block)
        return own[own < end]

    def _own_word(self, dimension: int) -> Union[slice, np.ndarray]:
        """The key that takes a dimension's own elements out of a numpy array of the array's shape."""
        own, zero = self._own_indices(dimension), self._lower[dimension]
        if not isinstance(own, range):
            return own - zero
        return slice(own.start - zero, max(own.stop, own.start) - zero, own.step)

    def _extents(self, dimension: int) -> list[int]:
        """How many indices each part of the grid has in a dimension."""
        stride = int(np.prod(self.grid[dimension + 1 :], dtype=int))
        return [self._native.local_shape(part * stride)[dimension] for part in range(self.grid[dimension])]

    def _read_product(self, indices: Sequence[Union[range, np.ndarray]]) -> np.ndarray:
        """The elements at all combinations of these indices, one list for each dimension. One-sided."""
        if all(isinstance(one, range) for one in indices):
            return self[tuple(slice(one.start, one.stop, one.step) for one in indices)]
        return self[np.ix_(*(_numbers_of(one) for one in indices))]


def _numbers_of(indices: Union[range, np.ndarray]) -> np.ndarray:
    # numpy takes an empty range for floats.
    return np.arange(indices.start, indices.stop, indices.step) if isinstance(indices, range) else indices


def checked_axes(what: str, axes: Sequence[int], ndim: int) -> list[int]:
    """The dimensions in the order that `axes` names. Raises Error unless each one is there once."""
    try:
        known = [operator.index(axis) + (ndim if axis < 0 else 0) for axis in axes]
    except TypeError:
        known = []
    if sorted(known) != list(range(ndim)):
        raise Error(f"{what} with axes={axes!r} (each dimension is there once): name each of {ndim}")
    return known


def collective(what: str, *arguments: Any) -> Any:
    """A `with` in which the rank is in the collective function `what`, with what is collective inside.

    `arguments` have to be the same on all ranks; they are compared by their texts. Else all ranks get a
    CollectiveError at the next barrier.
    """
    said = hashlib.blake2b(repr(arguments).encode(), digest_size=8).digest()
    return _native.Collective(what, [int.from_bytes(said, "little")])


def new_array(layout: ArrayLayout, dtype: Any, halo: int = 0) -> Dense:
    """A zero-initialised array of this layout. In a `collective` that has the dtype among its arguments."""
    kind = Dense._kinds[layout.distribution]
    array = kind.__new__(kind)
    array._make(layout, checked_dtype(dtype), halo)
    return array


def check_operand(array: Dense, operand: Any) -> None:
    """Raises Error if elements of a distributed operand do not have the indices of the array's.

    Its shape can be broadcast to the array's.
    """
    if not isinstance(operand, Dense):
        return
    first = array.ndim - operand.ndim
    for axis, bounds in enumerate(operand.bounds):
        if operand.shape[axis] != 1 and bounds != array.bounds[first + axis]:
            raise Error(
                f"operands of the bounds {array.bounds} and {operand.bounds} (elements of the same index "
                "belong together): use arrays of the same bounds"
            )


def part_of(array: Dense, operand: Any) -> Any:
    """What of an operand belongs to the array's own elements: it broadcasts to the shape of `local`.

    Scalars stay as they are. Of numpy arrays and arrays of the same layout it is a view where that is
    possible. Other distributed arrays are read: collective if they have the array's bounds, else one-sided.
    The operand's shape can be broadcast to the array's.
    """
    if isinstance(operand, Dense):
        if operand._layout == array._layout:
            return operand.local
        if operand.bounds == array.bounds:
            return redistributed(operand, array._layout).local
        return _broadcast_part(array, operand)
    if isinstance(operand, np.ndarray):
        return _numpy_part(array, operand)
    return operand


def redistributed(array: Dense, layout: ArrayLayout) -> Dense:
    """The array in another layout with the same bounds; itself if it has that. Collective."""
    if array._layout == layout:
        return array
    copied = new_array(layout, array.dtype)
    copy_between(array, copied)
    return copied


def copy_between(source: Dense, target: Dense, axes: Optional[Sequence[int]] = None) -> None:
    """Copies all elements between arrays of the same bounds and dtype. Collective.

    With `axes` the target has the source's dimensions in that order, and so its bounds. Each rank reads what
    it owns of the one, or writes what it owns of the other: of what is in blocks that is a box of each rank's
    elements, so that nothing else is moved.
    """
    in_order = list(range(source.ndim))
    order = in_order if axes is None else list(axes)
    if target._distribution == BLOCK or (target._layout == source._layout and order == in_order):
        target._native.assign(source._native, order)
    elif source._distribution == BLOCK:
        _native.barrier()  # nobody uses the old elements any more
        if source.local.size:
            own = [source._own_indices(dimension) for dimension in order]
            lower, upper = [one.start for one in own], [one.stop for one in own]
            values = np.ascontiguousarray(source.local.transpose(order))
            target._native.put(lower, upper, [], b"", bytes_of(values))
        _native.barrier()
    else:
        copy_between(redistributed(source, source._layout.as_blocks()), target, order)


def _numpy_part(array: Dense, operand: np.ndarray) -> np.ndarray:
    first = array.ndim - operand.ndim
    for axis, extent in enumerate(operand.shape):
        if extent != 1:
            operand = operand[(slice(None),) * axis + (array._own_word(first + axis),)]
    return operand


def _broadcast_part(array: Dense, operand: Dense) -> np.ndarray:
    first = array.ndim - operand.ndim
    return operand._read_product(
        [
            range(*bounds) if operand.shape[axis] == 1 else array._own_indices(first + axis)
            for axis, bounds in enumerate(operand.bounds)
        ]
    )


def shape_of(operand: Any) -> tuple[int, ...]:
    """The shape of an operand; () of scalars."""
    return operand.shape if isinstance(operand, (Dense, np.ndarray)) else ()


def checked_operand(what: str, operand: Any) -> Any:
    """An operand as a distributed array, a numpy array or a scalar.

    Raises Error for sparse matrices and masked arrays.
    """
    if operand is None or isinstance(operand, Dense) or np.isscalar(operand):
        return operand
    if isinstance(operand, (Elements, np.ma.MaskedArray)):
        raise Error(
            f"{what} with a {type(operand).__name__} (it has not one element for each index): use arrays of "
            "its elements, such as `local` or `data`"
        )
    return np.asarray(operand) if hasattr(operand, "__array__") or np.iterable(operand) else operand


def first_dense(operands: Iterable[Any], shape: Optional[tuple[int, ...]] = None) -> Optional[Dense]:
    """The first distributed array among operands, or the first one of this shape."""
    for operand in operands:
        if isinstance(operand, Dense) and (shape is None or operand.shape == shape):
            return operand
    return None
