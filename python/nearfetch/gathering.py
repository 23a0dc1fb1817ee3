# SPDX-License-Identifier: Apache-2.0
"""What an array of indices names, brought again and again: who has what of it is found out once."""

from __future__ import annotations

from typing import Any, Optional

from nearfetch.elements import bytes_of, view_of
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["Gather"]


class Gather:
    """Copies of the elements that `array.gather(indices)` names, as they were at the last `update()`.

    What is written later, by this rank or another one, comes with the next; before the first they are zero.
    `np.asarray(near)` is a copy of them in the shape of the indices, as `array.take(indices)` was then. The
    array lives as long.

    >>> from nearfetch import BlockArray, barrier, launch, rank
    >>> def main():
    ...     a = BlockArray(6, dtype=int)
    ...     near = a.gather([[5, 0], [0, -1]])
    ...     for turn in (10, 20):
    ...         a.local[...] = turn + rank()
    ...         barrier()
    ...         near.update()
    ...         barrier()
    ...     return near, near.elements.tolist(), near.positions.tolist(), np.asarray(near).tolist()
    >>> launch(main, ranks=2)[1]
    (Gather(shape=(2, 2), dtype=int64, elements=2), [20, 21], [[1, 0], [0, 1]], [[21, 20], [20, 21]])
    """

    def __init__(self, array: Any, rows: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Of a native `array`; `rows` of one index each are known to exist. Made by `array.gather()`."""
        self._native = _native.Gather(array, bytes_of(rows))
        self._elements = view_of(self._native.elements(), dtype)
        self._positions = view_of(self._native.positions(), np.uint32).reshape(shape)

    def update(self) -> None:
        """Brings what the elements are now: what was there at the last barrier, or later. Not collective.

        A few messages from each owner; where what is needed of it is in very many pieces it packs them, or
        what lies between comes along, whichever takes less. Raises Error when the array has other bounds
        than when it was gathered from.
        """
        self._native.update()

    @property
    def elements(self) -> np.ndarray:
        """Each that is needed once, and a few that lie between them: a view without copy, of one dimension.

        Not to be written to. `update()` changes it.
        """
        return self._elements

    @property
    def positions(self) -> np.ndarray:
        """Where they are in `elements`: uint32, in the shape of the indices; a view without copy.

        For libraries that take indices of their own, as those of a matrix whose columns are numbered anew.
        """
        return self._positions

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the indices."""
        return self._positions.shape

    @property
    def dtype(self) -> np.dtype:
        """Of the array."""
        return self._elements.dtype

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"Gather(shape={self.shape}, dtype={self.dtype}, elements={self._elements.size})"

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a Gather cannot be a numpy array without a copy")
        return np.asarray(self._elements[self._positions], dtype)
