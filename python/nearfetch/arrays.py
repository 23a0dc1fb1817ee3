# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays with numpy's conventions.

The elements are distributed over the ranks of a program. Every rank reads and writes each of them by its
index; `local` is a numpy view of the rank's own. Remote elements go through the rank's page cache.
Prefetch patterns fetch them in a few messages (Kayraklioglu, Ferguson and El-Ghazawi, *LAPPS*, 2018,
sections 4 and 5).

Two accesses to an element, one of them a write, are ordered by a release and an acquire, for example a
barrier. *Collective* functions are called by all ranks in the same order with the same arguments. An
array's memory is reused when the array and all views of it are gone in all ranks.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Iterator, Optional, Sequence, Union

from nearfetch.advanced import locate, places
from nearfetch.assigning import assign_elements, assign_masked, copy_elements, start_copy
from nearfetch.bulk_access import ArrayTransfer, BulkAccess
from nearfetch.dense import BLOCK, BLOCK_CYCLIC, CYCLIC, ArrayLayout, Dense
from nearfetch.elements import bytes_of, checked_dtype, without_padding
from nearfetch.errors import Error, IndexingError
from nearfetch.gathering import Gather
from nearfetch.halos import Halos, checked_halo
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_methods import NumpyMethods
from nearfetch.numpy_registry import refuse
from nearfetch.prefetching import ArrayPrefetching, PrefetchPhase, PrefetchTransfer
from nearfetch.selecting import masked

__all__ = [
    "ArrayTransfer",
    "BlockArray",
    "BlockCyclicArray",
    "CyclicArray",
    "DistributedArray",
    "PrefetchPhase",
    "PrefetchTransfer",
]

Shape = Union[int, Sequence[int]]

_LIBRARIES = ("numpy", "scipy", "sklearn", "array_api_compat", "array_api_extra")
"""Those that take distributed arrays by numpy's protocols, or by the array API standard."""


class DistributedArray(Halos, ArrayPrefetching, BulkAccess, NumpyMethods):
    """The common part of all distributions; make one of the derived classes."""

    _distribution = BLOCK
    _given_block: Optional[Shape] = None

    def __init__(
        self,
        shape: Optional[Shape] = None,
        dtype: Any = float,
        *,
        bounds: Optional[Sequence[tuple[int, int]]] = None,
        grid: Optional[Sequence[int]] = None,
        halo: int = 0,
    ) -> None:
        """Zero-initialised. Collective.

        `shape`: as in numpy, with 1 to 4 dimensions and indices from 0. Or `bounds`: (first, end) of each
        dimension; then negative indices do not count from the end. `dtype`: of 1 to 64 bytes, without
        objects. Elements of other sizes than 1, 2, 4, 8 and 16 bytes have 1 to 3 dimensions. As in numpy,
        a dtype whose elements are arrays, such as `(float, 3)`, adds their dimensions, which are not
        distributed. `grid`: ranks in each other dimension; by default as close to a cube as possible.
        `halo`: room for so many rows before own ones, and after them, so that `with_halo` copies no own
        elements. That needs blocks, and a grid with all ranks in the first dimension, which is the default
        then.

        Raises Error when these are invalid, or differ between ranks.
        """
        lower, upper = _bounds_of(shape, bounds)
        element = np.dtype(dtype)
        known = _numbers("grid", grid, len(lower))
        room = checked_halo(halo)
        if room and not known:
            known = [_native.ranks(), *(1 for _ in lower[1:])]
        block = _numbers("block", self._given_block, len(lower))
        if element.subdtype is not None:
            element, inner = element.subdtype
            known = [*(known or _native.balanced_grid(len(lower))), *(1 for _ in inner)]
            block = [*block, *inner] if block else []
            lower, upper = [*lower, *(0 for _ in inner)], [*upper, *inner]
        layout = ArrayLayout(self._distribution, tuple(zip(lower, upper)), tuple(known), tuple(block))
        self._make(layout, checked_dtype(element), room)
        self._agree_on_dtype()

    # Properties.

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self._dtype.itemsize

    # Global view.

    def __getitem__(self, key: Any) -> Any:
        """An element as a numpy scalar, or a copy of what numpy selects as a numpy array.

        Keys are those of numpy, without new axes: integers, slices, an ellipsis, arrays of indices, and masks
        of the first dimensions. Own and prefetched elements are read locally. The others come in one message
        or two from each owner, a box in a few. A distributed mask gives a distributed vector: all ranks call
        it. Raises IndexingError for other keys and out of bounds.
        """
        if self._read(key):
            return self._element_read()
        self._check_no_field(key)
        if isinstance(key, Dense) and key.dtype == bool:
            return masked(self, key)
        named = locate(key, self._lower, self._upper)
        found = np.empty(named.shape, self._dtype)
        self._native.get(*named.where, bytes_of(found))
        return named.result(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes an element, or what numpy selects: `value` is broadcast and converted as in numpy.

        Of an index that an array names twice the last value counts. With a distributed mask each rank writes
        a scalar to its own elements; another value is collective. A distributed value is collective: each
        rank reads what it is to write of it. Messages and errors are those of reading.
        """
        try:
            self._cell[0] = value
        except (TypeError, ValueError):
            pass  # not one value, or not one that numpy can convert: it will say so below
        else:
            if self._write(key):
                return
        self._check_no_field(key)
        if isinstance(key, Dense):
            assign_masked(self, key, value)
            return
        if isinstance(value, Dense):
            assign_elements(self, key, value)
            return
        named = locate(key, self._lower, self._upper)
        values = named.packed(self._values(named.shape, value))
        self._native.put(*named.where, bytes_of(values))

    def _check_no_field(self, key: Any) -> None:
        named = key if isinstance(key, list) else [key]
        if self._has_fields and named and all(isinstance(word, str) for word in named):
            raise IndexingError(
                f"the field {key!r} of a distributed array (its elements are of {self._dtype}): use "
                f"a.local[{key!r}], a view of this rank's part, or a[...][{key!r}], a copy"
            )

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self._lower[0], self._upper[0]))

    def __reversed__(self) -> Iterator[Any]:
        return (self[index] for index in reversed(range(self._lower[0], self._upper[0])))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a distributed array cannot be a numpy array without a copy")
        caller = sys._getframe(1)
        if caller.f_code is DistributedArray.__setitem__.__code__:
            raise TypeError("a distributed array as one value")  # which a value is taken for first
        library = str(caller.f_globals.get("__name__")).split(".")[0]
        if library in _LIBRARIES:
            # A function of theirs wants it, not the program.
            refuse(f"{library}'s {caller.f_code.co_name}()")
        whole = self[...]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def gather(self, indices: Any) -> Gather:
        """Prepares repeated reads of `take(indices)`. Not collective.

        Ownership is determined here, once. `update()` of the result then fetches the elements in one
        message from each owner. Raises IndexingError as `take()` does, and Error for more than 2**32 distinct
        elements.

        >>> from nearfetch import barrier, launch
        >>> def main():
        ...     a = CyclicArray(5)
        ...     a.local[...] = a.local_indices[0] / 2
        ...     gathered = a.gather([4, 1, 1, -2])
        ...     barrier()
        ...     gathered.update()
        ...     return np.asarray(gathered).tolist()
        >>> launch(main, ranks=2)[0]
        [2.0, 0.5, 0.5, 1.5]
        """
        return Gather(self._native, *self._named(indices), self._dtype)

    # The whole array.

    def fill(self, value: Any) -> None:
        """Sets every element to the value. Collective. Raises Error when ranks give different values."""
        self._cell[0] = value
        same = without_padding(self._cell)  # its bytes are compared
        self._native.fill(same.ctypes.data)

    def assign(self, source: DistributedArray, axes: Optional[Sequence[int]] = None) -> None:
        """Copies the elements of an array with any distribution. Collective.

        `axes`: the order of its dimensions here, as in numpy.transpose; by default that of `source`. Each
        rank moves what it owns of one of the arrays, and no more. Raises Error unless the source has the same
        bounds, in that order, and the same dtype; for axes that do not name each dimension once; and for the
        array itself in another order.

        >>> from nearfetch import barrier, launch, rank
        >>> def main():
        ...     a, t = BlockArray((2, 3), dtype=int), BlockArray((3, 2), dtype=int)
        ...     a.local[...] = rank()
        ...     barrier()
        ...     t.assign(a, axes=(1, 0))
        ...     return t[...].tolist()
        >>> launch(main, ranks=2)[0]
        [[0, 1], [0, 1], [0, 1]]
        """
        copy_elements(source, self, axes)

    copy_from = assign

    def assign_async(self, source: DistributedArray, axes: Optional[Sequence[int]] = None) -> ArrayTransfer:
        """Begins `assign(source, axes)`. Collective, and so is the `wait()`, at which the elements come.

        Until then nobody writes to the source. Each rank reads what it owns here. Raises Error as `assign()`
        does.

        >>> from nearfetch import BlockArray, CyclicArray, barrier, launch, rank
        >>> def main():
        ...     a, b = CyclicArray(6, dtype=int), BlockArray(6, dtype=int)
        ...     a.local[...] = rank()
        ...     with b.assign_async(a):
        ...         own = a.local.sum()                     # meanwhile
        ...     return int(own), b[...].tolist()
        >>> launch(main, ranks=2)[1]
        (3, [0, 1, 0, 1, 0, 1])
        """
        return start_copy(source, self, axes)

    def resize(
        self,
        shape: Optional[Shape] = None,
        *,
        bounds: Optional[Sequence[tuple[int, int]]] = None,
        grid: Optional[Sequence[int]] = None,
    ) -> None:
        """Changes the shape or bounds, with the same number of dimensions. Collective.

        Indices in both bounds keep their elements, new ones are zero. Ownership follows from the new
        bounds, and from `grid` if given. Prefetched patterns are requested again: a stencil surrounds the
        elements that the rank owns now; tables and observations lose indices that are out of bounds.
        Memory is returned only if the array needs more than ever before.

        Raises Error in all ranks, with the array unchanged: for invalid bounds or grid, views of a rank's
        part (`local`), exhausted memory, a `static_domain` promise, or contributions that were not
        accumulated. `wait()` of a pending transfer is then an Error.

        >>> from nearfetch import launch
        >>> def main():
        ...     a = BlockArray((2, 3), dtype=int)
        ...     a.fill(1)
        ...     a.resize((3, 2))
        ...     return a[...].tolist()
        >>> launch(main, ranks=2)[1]
        [[1, 1], [1, 1], [0, 0]]
        """
        lower, upper = _bounds_of(shape, bounds)
        if len(lower) != self.ndim:
            raise Error(
                f"resize to {len(lower)} dimensions (the array has {self.ndim}, and keeps them): use as many"
            )
        known = _numbers("grid", grid, self.ndim)
        self._check_no_views("resize")
        self._native.resize(lower, upper, known)
        self._lower, self._upper = lower, upper

    # Adding to ghosts.

    def contribute(self, indices: Any, values: Any) -> None:
        """Adds `values` to elements: at once if own, at `accumulate_ghosts()` if prefetched.

        `indices` is a key of `a[...]`; repeated ones are added repeatedly. Reads do not see
        contributions before. For numeric dtypes; integers wrap around. Raises Error, and adds nothing, if
        an element is neither own nor prefetched.
        """
        rows, shape = places(indices, self._lower, self._upper)
        added = self._values(shape, values)
        self._native.contribute(bytes_of(rows), bytes_of(added), self._kind())

    def accumulate_ghosts(self) -> None:
        """Adds all ranks' contributions to the elements, in rank order. Collective.

        >>> from nearfetch import launch, rank
        >>> def main():
        ...     a = BlockArray(6, dtype=int)
        ...     a.prefetch_stencil(1)
        ...     a.contribute(slice(2, 4), [10, 1])      # the elements on either side of the border
        ...     a.accumulate_ghosts()
        ...     return a[...].tolist()
        >>> launch(main, ranks=2)[0]
        [0, 0, 20, 2, 0, 0]
        """
        self._native.accumulate_ghosts(self._kind())


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

    _distribution = BLOCK


class CyclicArray(DistributedArray):
    """An array distributed round robin by single indices, in each dimension."""

    _distribution = CYCLIC


class BlockCyclicArray(DistributedArray):
    """An array distributed round robin by blocks of `block` indices, in each dimension."""

    _distribution = BLOCK_CYCLIC

    def __init__(self, *shape_and_dtype: Any, block: Optional[Shape] = None, **more: Any) -> None:
        self._given_block = block
        super().__init__(*shape_and_dtype, **more)


Dense._kinds = {kind._distribution: kind for kind in (BlockArray, CyclicArray, BlockCyclicArray)}


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
