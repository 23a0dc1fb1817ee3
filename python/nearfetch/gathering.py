# SPDX-License-Identifier: Apache-2.0
"""Repeated reads of the elements that an index array names. Ownership is determined once."""

from __future__ import annotations

from typing import Any, Optional

from nearfetch.elements import bytes_of, view_of
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["Gather"]


class Gather:
    """Copies of the elements that `array.gather(indices)` names, as of the last `update()`.

    Later writes become visible with the next update; before the first, elements are zero.
    `np.asarray(gathered)` is a copy in the shape of the indices, equal to `array.take(indices)` at the
    update. It keeps the array alive.

    >>> from nearfetch import BlockArray, barrier, launch, rank
    >>> def main():
    ...     a = BlockArray(6, dtype=int)
    ...     gathered = a.gather([[5, 0], [0, -1]])
    ...     for offset in (10, 20):
    ...         a.local[...] = offset + rank()
    ...         barrier()
    ...         gathered.update()
    ...         barrier()
    ...     parts = gathered.elements.tolist(), gathered.positions.tolist()
    ...     return gathered, *parts, np.asarray(gathered).tolist()
    >>> launch(main, ranks=2)[1]
    (Gather(shape=(2, 2), dtype=int64, elements=2), [20, 21], [[1, 0], [0, 1]], [[21, 20], [20, 21]])
    """

    def __init__(self, array: Any, rows: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Made by `array.gather()` of a native `array`; `rows` has one valid index each."""
        self._native = _native.Gather(array, bytes_of(rows))
        self._elements = view_of(self._native.elements(), dtype)
        self._positions = view_of(self._native.positions(), np.uint32).reshape(shape)

    def update(self) -> None:
        """Fetches the current elements: their values at the last barrier, or later. Not collective.

        A few messages from each owner. If the elements of an owner are in very many runs, it packs them or
        a whole range is fetched, whichever is faster. Raises Error when the array was resized.
        """
        self._native.update()

    @property
    def elements(self) -> np.ndarray:
        """The distinct elements, and a few in gaps between them: a read-only view of one dimension.

        `update()` changes it.
        """
        return self._elements

    @property
    def positions(self) -> np.ndarray:
        """Their positions in `elements`: uint32, in the shape of the indices; a read-only view.

        For libraries that take their own index array.
        """
        return self._positions

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the indices."""
        return self._positions.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the array."""
        return self._elements.dtype

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"Gather(shape={self.shape}, dtype={self.dtype}, elements={self._elements.size})"

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a Gather cannot be a numpy array without a copy")
        return np.asarray(self._elements[self._positions], dtype)
