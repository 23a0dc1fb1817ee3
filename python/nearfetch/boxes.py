# SPDX-License-Identifier: Apache-2.0
"""An array in a file as a list of boxes, each a contiguous part of the file, and which rank moves which."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.terminal import show_step

__all__ = ["BOX_BYTES", "Box", "box_shape", "boxes_of", "each", "row_boxes"]

BOX_BYTES = 8 << 20
"""A rank holds about so much of an array twice while it moves."""

_QUIET_SECONDS = 1.0


class Box(NamedTuple):
    """Indices from 0: those of the file."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The key that takes the box out of the whole array."""
        return tuple(slice(first, end) for first, end in zip(self.lower, self.upper))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the box."""
        return tuple(end - first for first, end in zip(self.lower, self.upper))


def box_shape(
    shape: Sequence[int],
    itemsize: int,
    parts: int,
    unit: Optional[Sequence[int]] = None,
    limit_bytes: Optional[int] = None,
) -> tuple[int, ...]:
    """Extents of boxes of at most `limit_bytes`, so that there are at least `parts` of them where possible.

    They are contiguous in C order, and whole multiples of `unit` (by default of one element). The limit is
    BOX_BYTES by default.
    """
    extents = list(unit or [1] * len(shape))
    limit = (limit_bytes or BOX_BYTES) // itemsize
    most = min(limit, -(-int(np.prod(shape, dtype=object)) // parts))
    for dimension in reversed(range(len(shape))):
        wanted = -(-shape[dimension] // extents[dimension])
        fitting = most // int(np.prod(extents, dtype=object))
        extents[dimension] *= max(1, min(wanted, fitting))
        if fitting < wanted:
            break
    return tuple(extents)


def boxes_of(shape: Sequence[int], box: Sequence[int], part: int = 0, parts: int = 1) -> Iterator[Box]:
    """The boxes of an array, or of one of its parts: these are consecutive, and have as many boxes each."""
    counts = [-(-extent // step) for extent, step in zip(shape, box)]
    total = int(np.prod(counts, dtype=object))
    for number in range(total * part // parts, total * (part + 1) // parts):
        at = np.unravel_index(number, counts)
        lower = tuple(int(i) * step for i, step in zip(at, box))
        yield Box(lower, tuple(min(i + step, end) for i, step, end in zip(lower, box, shape)))


def row_boxes(rows: int, row_bytes: int) -> list[Box]:
    """So many rows as boxes of one dimension."""
    step = max(1, BOX_BYTES // row_bytes)
    return [Box((first,), (min(first + step, rows),)) for first in range(0, rows, step)]


def each(boxes: Sequence[Box], itemsize: int, what: str, move: Callable[[Box], Any]) -> None:
    """Moves one box after the other. On a terminal rank 0 shows how far it is, where that takes long."""
    sizes = [int(np.prod(box.shape, dtype=object)) * itemsize for box in boxes]
    done, begin, shown = 0, time.monotonic(), False
    for box, size in zip(boxes, sizes):
        move(box)
        done += size
        if _native.rank() == 0 and time.monotonic() - begin > _QUIET_SECONDS:
            show_step(f"{what}: {100 * done // sum(sizes)} %")
            shown = True
    if shown:
        show_step("")
