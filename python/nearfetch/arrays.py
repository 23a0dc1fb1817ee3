# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays with numpy's conventions.

An array's elements are dealt out to the ranks of a program. Every rank reads and writes any of them by its
index;
`local` is a numpy view of the rank's own. Elements of others come through the rank's page cache, and by the
prefetch patterns (Kayraklioglu, Ferguson and El-Ghazawi, *LAPPS*, 2018, sections 4 and 5) in a few messages,
for a program that knows what it is going to read.

As in the C++ interface two accesses to an element, one of them a write, are ordered by a barrier or whatever
else releases and acquires. What is called *collective* is called by all ranks in the same order, with the
same arguments. The memory of arrays is given back when the program ends.
"""

from __future__ import annotations

import hashlib
import operator
from typing import Any, Iterator, Optional, Sequence, Union

from nearfetch.errors import Error
from nearfetch.indexing import select
from nearfetch.native import _native
from nearfetch.prefetching import Prefetching, PrefetchPhase, PrefetchTransfer

try:
    import numpy as np
except ImportError:
    raise Error(
        "nearfetch's arrays are not here (numpy is missing, whose conventions they have): pip install numpy"
    ) from None

__all__ = [
    "BlockArray",
    "BlockCyclicArray",
    "CyclicArray",
    "DistributedArray",
    "PrefetchPhase",
    "PrefetchTransfer",
]

_ELEMENT_BYTES = (1, 2, 4, 8, 16)

Shape = Union[int, Sequence[int]]


class DistributedArray(Prefetching):
    """What the arrays of all distributions have in common; make one of these."""

    _dealt = 0
    _block: Optional[Shape] = None

    def __init__(
        self,
        shape: Optional[Shape] = None,
        dtype: Any = float,
        *,
        bounds: Optional[Sequence[tuple[int, int]]] = None,
        grid: Optional[Sequence[int]] = None,
    ) -> None:
        """Zeros. Collective.

        `shape`: as in numpy, of 1 to 4 dimensions, with indices from 0; or `bounds`: (first, end) of each
        dimension, and then an index is what it is, negative or not. `dtype`: of 1, 2, 4, 8 or 16 bytes.
        `grid`: ranks in each dimension; left out, as near to a cube as it gets.

        Raises Error when these make no sense, or differ from rank to rank.
        """
        self._dtype = _checked_dtype(dtype)
        self._lower, self._upper = _bounds_of(shape, bounds)
        dimensions = len(self._lower)
        self._native = _native.Array(
            self._dealt,
            self._dtype.itemsize,
            self._lower,
            self._upper,
            _numbers("grid", grid, dimensions),
            _numbers("block", self._block, dimensions),
        )
        # Single elements go through here.
        self._cell = np.zeros(1, self._dtype)
        self._native.set_cell(self._cell.ctypes.data)
        self._read = self._native.read
        self._write = self._native.write
        self._check_dtype_of_all()

    def _check_dtype_of_all(self) -> None:
        said = hashlib.blake2b(repr(self._dtype.descr).encode(), digest_size=16).digest()
        if len(set(self._gather(np.frombuffer(said, "V16")).tolist())) > 1:
            raise Error(f"an array of {self._dtype} (other ranks made it with another dtype): use the same")

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """As in numpy."""
        return tuple(end - first for first, end in zip(self._lower, self._upper))

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """(first, end) of each dimension's indices."""
        return tuple(zip(self._lower, self._upper))

    @property
    def dtype(self) -> np.dtype:
        """As in numpy."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return len(self._lower)

    @property
    def size(self) -> int:
        """How many elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        return self.size * self._dtype.itemsize

    @property
    def grid(self) -> tuple[int, ...]:
        """How many ranks share each dimension."""
        return tuple(self._native.grid())

    def owner(self, index: Union[int, Sequence[int]]) -> int:
        """The rank that has the element.

        >>> from nearfetch import launch
        >>> launch(lambda: [BlockArray(5).owner(i) for i in (0, 2, 3, -1)], ranks=2)
        [[0, 0, 1, 1], [0, 0, 1, 1]]
        """
        return self._native.owner(self._element(index))

    def is_prefetched(self, index: Union[int, Sequence[int]]) -> bool:
        """Whether this rank reads the element from what it has prefetched."""
        return self._native.is_prefetched(self._element(index))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = f"shape={self.shape}" if not any(self._lower) else f"bounds={self.bounds}"
        return f"{type(self).__name__}({where}, dtype={self._dtype}, grid={self.grid})"

    # Elements of all ranks.

    def __getitem__(self, key: Any) -> Any:
        """An element as a numpy scalar, or a copy of a slice as a numpy array.

        What of a slice is one's own or prefetched is read here; what is missing comes in one message, or a
        few, from each of its owners. Raises IndexingError for what is outside, and for lists, masks and
        arrays.
        """
        if self._read(key):
            return self._cell[0]
        chosen = select(key, self._lower, self._upper)
        if chosen.is_empty:
            return np.empty(chosen.shape, self._dtype)
        lower, upper = chosen.lower, chosen.upper
        box = np.empty([end - first for first, end in zip(lower, upper)], self._dtype)
        self._native.get(lower, upper, _bytes(box))
        if chosen.is_box:
            return box.reshape(chosen.shape)
        return box[chosen.in_box].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes an element, or a slice: `value` is broadcast and converted as numpy does.

        A slice with steps is written element by element, through the cache.
        """
        try:
            self._cell[0] = value
        except (TypeError, ValueError):
            pass  # not one value, or not one that numpy can convert: it will say so below
        else:
            if self._write(key):
                return
        chosen = select(key, self._lower, self._upper)
        values = np.empty(chosen.shape, self._dtype)
        values[...] = value
        if chosen.is_empty:
            return
        values = values.reshape(chosen.full_shape)
        if chosen.is_box:
            self._native.put(chosen.lower, chosen.upper, _bytes(values))
            return
        turned = tuple(slice(None, None, -1 if one.step < 0 else 1) for one in chosen.ranges)
        steps = [abs(one.step) for one in chosen.ranges]
        self._native.put_steps(
            chosen.lower, chosen.upper, steps, _bytes(np.ascontiguousarray(values[turned]))
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self._lower[0], self._upper[0]))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a distributed array cannot be a numpy array without a copy")
        whole = self[...]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    # One's own.

    @property
    def local(self) -> np.ndarray:
        """This rank's own elements: a view without copy, to be written to, of indices from 0.

        It may be kept when the program has ended, where ranks are threads. On MPI it is an Error if one is.

        >>> from nearfetch import launch
        >>> def main():
        ...     a = BlockArray((2, 4), dtype="i4", grid=(1, 2))
        ...     a.local[...] = 7
        ...     return a.local.shape, int(a.sum())
        >>> launch(main, ranks=2)
        [((2, 2), 56), ((2, 2), 56)]
        """
        shape = self._native.local_shape()
        held = self._native.local()
        if held is None:
            return np.empty(shape, self._dtype)
        return np.frombuffer(held, np.uint8).view(self._dtype).reshape(shape)

    @property
    def local_box(self) -> tuple[slice, ...]:
        """What this rank owns: `a[a.local_box]` is a copy of `a.local`. For blocks, which are boxes."""
        if type(self)._dealt != BlockArray._dealt:
            raise Error(
                f"local_box of a {type(self).__name__} (what a rank owns is no box): use local_indices"
            )
        firsts = self.local_indices
        return tuple(slice(int(own[0]), int(own[-1]) + 1) if own.size else slice(0, 0) for own in firsts)

    @property
    def local_indices(self) -> tuple[np.ndarray, ...]:
        """The indices that this rank has of each dimension: element (i, j) of `local` is (r[0][i], r[1][j]).

        >>> from nearfetch import launch
        >>> launch(lambda: CyclicArray(5).local_indices[0].tolist(), ranks=2)
        [[0, 2, 4], [1, 3]]
        """
        parts = (self._native.local_indices(dimension) for dimension in range(self.ndim))
        return tuple(np.concatenate([np.arange(*one) for one in [(0, 0), *part]]) for part in parts)

    def with_halo(self, depth: int = 1) -> tuple[np.ndarray, tuple[slice, ...]]:
        """A copy of what this rank owns and of what lies up to `depth` around it, and where that is.

        With `prefetch_stencil(depth)` all of it is here. For blocks.
        """
        box = tuple(
            slice(max(own.start - depth, first), min(own.stop + depth, end)) if own.stop > own.start else own
            for own, (first, end) in zip(self.local_box, self.bounds)
        )
        return self[box], box

    # The whole array.

    def fill(self, value: Any) -> None:
        """Gives every element the value. Collective."""
        self._cell[0] = value
        self._native.fill(self._cell.ctypes.data)

    def assign(self, source: DistributedArray) -> None:
        """Takes over another array's elements, whatever its distribution. Collective.

        Raises Error unless it has the same bounds and dtype.
        """
        if not isinstance(source, DistributedArray):
            raise Error(
                f"assign of a {type(source).__name__} (the source is a distributed array): use a[...] = "
            )
        if source.dtype != self._dtype:
            raise Error(
                f"assign of {source.dtype} to {self._dtype} (elements are copied as they are): "
                "use the same dtype"
            )
        self._native.assign(source._native)

    copy_from = assign

    def sum(self) -> Any:
        """Of all elements, with numpy's dtype for it; the same on all ranks. Collective.

        >>> from nearfetch import launch
        >>> def main():
        ...     a = CyclicArray(10, dtype="i1")
        ...     a.fill(100)
        ...     return a.sum()
        >>> launch(main, ranks=2) == [1000, 1000]
        True
        """
        return np.add.reduce(self._gather(np.asarray(self.local.sum()).reshape(1)))

    def mean(self) -> Any:
        """Of all elements. Collective."""
        return self.sum() / self.size

    def min(self) -> Any:
        """The smallest element. Collective. Raises Error where there is none."""
        return self._extreme("min")

    def max(self) -> Any:
        """The largest element. Collective. Raises Error where there is none."""
        return self._extreme("max")

    def _extreme(self, name: str) -> Any:
        if self.size == 0:
            raise Error(f"{name} of an array without elements (it has none): use an array that has some")
        own = self.local
        value = getattr(own, name)() if own.size else np.zeros((), self._dtype)
        has = self._gather(np.array([own.size > 0]))
        return getattr(self._gather(np.asarray(value).reshape(1))[has], name)()

    def _gather(self, own: np.ndarray) -> np.ndarray:
        """One element of each rank, in their order."""
        everyone = np.empty(_native.ranks(), own.dtype)
        self._native.gather(_bytes(own), _bytes(everyone))
        return everyone

    def _element(self, index: Union[int, Sequence[int]]) -> list[int]:
        words = tuple(index) if isinstance(index, (tuple, list, np.ndarray)) else (index,)
        if len(words) != self.ndim:
            raise Error(
                f"an index of {len(words)} numbers (the array has {self.ndim} dimensions): use as many"
            )
        return [self._native.resolve(operator.index(word), at) for at, word in enumerate(words)]


class BlockArray(DistributedArray):
    """An array of which each rank owns one box.

    >>> from nearfetch import barrier, launch, rank
    >>> def main():
    ...     a = BlockArray((4, 6), dtype=int)
    ...     a.local[...] = rank()
    ...     barrier()
    ...     return a[1:3, ::3].tolist()
    >>> launch(main, ranks=4)[0]
    [[0, 1], [2, 3]]
    """

    _dealt = 0


class CyclicArray(DistributedArray):
    """An array whose indices are dealt out in turn, one at a time, in each dimension."""

    _dealt = 1


class BlockCyclicArray(DistributedArray):
    """An array whose indices are dealt out in turn, `block` at a time (of each dimension)."""

    _dealt = 2

    def __init__(self, *shape_and_dtype: Any, block: Optional[Shape] = None, **more: Any) -> None:
        self._block = block
        super().__init__(*shape_and_dtype, **more)


def _checked_dtype(dtype: Any) -> np.dtype:
    known = np.dtype(dtype)
    if known.hasobject:
        raise Error(f"an array of {known} (Python's objects stay in their process): use a dtype of bytes")
    if known.itemsize not in _ELEMENT_BYTES:
        raise Error(
            f"an array of {known}, {known.itemsize} bytes each (there are arrays of 1, 2, 4, 8 and 16): "
            "use a dtype of such a size"
        )
    if known.subdtype is not None:
        raise Error(f"an array of {known} (its elements are arrays): make these one more dimension")
    return known


def _bounds_of(
    shape: Optional[Shape], bounds: Optional[Sequence[tuple[int, int]]]
) -> tuple[list[int], list[int]]:
    if (shape is None) == (bounds is None):
        raise Error("an array (it has either a shape or bounds): give one of them")
    try:
        if shape is not None:
            extents = (
                [operator.index(word) for word in shape]  # type: ignore[union-attr]
                if np.iterable(shape)
                else [operator.index(shape)]
            )
            pairs = [(0, extent) for extent in extents]
        else:
            pairs = [(operator.index(first), operator.index(end)) for first, end in bounds or ()]
    except (TypeError, ValueError):
        raise Error(
            f"an array of {shape if bounds is None else bounds!r} "
            "(it has whole numbers, for bounds two of each dimension): use these"
        ) from None
    if any(not -(2**62) < number < 2**62 for pair in pairs for number in pair):
        raise Error(f"an array of {pairs} (indices have 62 bits): use smaller ones")
    return [first for first, _ in pairs], [end for _, end in pairs]


def _numbers(what: str, words: Any, dimensions: int) -> list[int]:
    if words is None:
        return []
    known = [operator.index(word) for word in words] if np.iterable(words) else [operator.index(words)]
    if len(known) != dimensions or any(not -(2**31) <= number < 2**31 for number in known):
        raise Error(f"{what}={words!r} (the array has {dimensions} dimensions): give one number for each")
    return known


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)
