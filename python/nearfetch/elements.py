# SPDX-License-Identifier: Apache-2.0
"""The common part of distributed arrays and sparse matrices: global elements, and agreement of ranks."""

from __future__ import annotations

import hashlib
import operator
from typing import Any, Sequence, Union

from nearfetch.errors import Error
from nearfetch.indexing import scattered
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.prefetching import Prefetching

__all__ = ["Elements", "bytes_of", "checked_dtype", "view_of", "without_padding"]

_MOST_BYTES = 64  # of an element


class Elements(Prefetching):
    """A container whose elements are distributed over the ranks."""

    _dtype: np.dtype

    def _begin(self, native: Any) -> None:
        """All ranks have made their part."""
        self._native = native
        # Buffer for single elements.
        self._cell = np.zeros(1, self._dtype)
        native.set_cell(self._cell.ctypes.data)
        self._read = native.read
        self._write = native.write
        self._has_fields = self._dtype.names is not None

    def _agree_on_dtype(self) -> None:
        """Collective. Raises Error when the ranks' dtypes differ."""
        said = hashlib.blake2b(repr(self._dtype).encode(), digest_size=16).digest()
        if len(set(self._of_all_ranks(type(self).__name__, np.frombuffer(said, "V16")).tolist())) > 1:
            raise Error(f"an array of {self._dtype} (other ranks made it with another dtype): use the same")

    @property
    def shape(self) -> tuple[int, ...]:
        """As in numpy."""
        return tuple(end - first for first, end in zip(self._lower, self._upper))

    @property
    def dtype(self) -> np.dtype:
        """As in numpy."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._lower)

    def owner(self, index: Union[int, Sequence[int]]) -> int:
        """The rank that owns the element.

        >>> from nearfetch import BlockArray, launch
        >>> launch(lambda: [BlockArray(5).owner(i) for i in (0, 2, 3, -1)], ranks=2)
        [[0, 0, 1, 1], [0, 0, 1, 1]]
        """
        return self._native.owner(self._element(index))

    def is_prefetched(self, index: Union[int, Sequence[int]]) -> bool:
        """Whether this rank reads the element from prefetched data."""
        return self._native.is_prefetched(self._element(index))

    def take(self, indices: Any) -> np.ndarray:
        """Elements one by one: named by an integer array, or by a tuple with one per dimension.

        As `numpy.asarray(a)[indices]` for integer arrays. Each element is read as `a[i, j]` is: locally if
        own or prefetched, else through the cache. `observe()` records it.

        >>> from nearfetch import BlockArray, barrier, launch
        >>> def main():
        ...     a = BlockArray((4, 5), dtype=int)
        ...     a.local[...] = np.add.outer(10 * a.local_indices[0], a.local_indices[1])
        ...     barrier()
        ...     return a.take(([0, 3, 3], [[1], [-1]])).tolist()
        >>> launch(main, ranks=2)[1]
        [[1, 31, 31], [4, 34, 34]]
        """
        return self._take(*scattered(indices, self._lower, self._upper))

    def _take(self, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The same for valid indices: `rows` has one number per dimension."""
        taken = np.empty(shape, self._dtype)
        if taken.size:
            self._native.read_many(bytes_of(rows), bytes_of(taken))
        return taken

    def _element_read(self) -> Any:
        """The element in the cell."""
        value = self._cell[0]
        return value.copy() if self._has_fields else value  # which would be a view

    def _of_all_ranks(self, what: str, own: np.ndarray) -> np.ndarray:
        """One element of each rank, in rank order, for the collective function `what`."""
        everyone = np.empty(_native.ranks(), own.dtype)
        self._native.gather(what, bytes_of(own), bytes_of(everyone))
        return everyone

    def _check_no_views(self, what: str) -> None:
        """Before own elements move. Collective. Raises Error in all ranks if there are views of them."""
        held = np.flatnonzero(self._of_all_ranks(what, np.array([self._native.views()])))
        if held.size:
            raise Error(
                f"{what}: rank {held[0]} still has a view of its part (the elements move, and the view would "
                "be of something else): del it first, or keep a copy"
            )

    def _element(self, index: Union[int, Sequence[int]]) -> list[int]:
        words = tuple(index) if isinstance(index, (tuple, list, np.ndarray)) else (index,)
        if len(words) != self.ndim:
            raise Error(
                f"an index of {len(words)} numbers (the array has {self.ndim} dimensions): use as many"
            )
        return [self._native.resolve(operator.index(word), at) for at, word in enumerate(words)]


def checked_dtype(dtype: Any) -> np.dtype:
    """Raises Error for dtypes that elements cannot have."""
    known = np.dtype(dtype)
    if known.hasobject:
        raise Error(f"an array of {known} (Python's objects stay in their process): use a dtype of bytes")
    if known.subdtype is not None:
        raise Error(f"an array of {known} (its elements are arrays): make these one more dimension")
    if not 1 <= known.itemsize <= _MOST_BYTES:
        raise Error(
            f"an array of {known}, {known.itemsize} bytes each (an element has 1 to {_MOST_BYTES}): use a "
            "smaller dtype, one more dimension, or an array for each field"
        )
    return known


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The array's memory as bytes. `array` is contiguous."""
    return array.reshape(-1).view(np.uint8)


def without_padding(elements: np.ndarray) -> np.ndarray:
    """The same elements, with padding bytes set to zero."""
    if elements.dtype.names is not None:
        copied = np.zeros(elements.shape, elements.dtype)
        raw = copied.view(np.uint8).reshape(*copied.shape, copied.itemsize)
        for name in elements.dtype.names:
            if not elements.dtype.fields[name][0].itemsize:
                continue
            # As bytes: an assignment of a nested structure may copy its padding, too.
            field = without_padding(np.ascontiguousarray(elements[name]))
            first = elements.dtype.fields[name][1]
            own = field.reshape(*elements.shape, -1).view(np.uint8)
            raw[..., first : first + own.shape[-1]] = own
        return copied
    if elements.dtype.char in "gG" and np.finfo("g").nmant == 63:
        copied = elements.copy()
        copied.view("u1").reshape(-1, np.dtype("g").itemsize)[:, 10:] = 0
        return copied
    return elements


def view_of(held: Any, dtype: Any) -> np.ndarray:
    """The same memory as one-dimensional elements; `held` is the native side's object, or None."""
    return np.empty(0, dtype) if held is None else np.frombuffer(held, np.uint8).view(dtype)
