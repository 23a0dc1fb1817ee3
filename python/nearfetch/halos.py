# SPDX-License-Identifier: Apache-2.0
"""A rank's block with a halo around it: in place where the array has room for it, else as a copy."""

from __future__ import annotations

import itertools
import operator
from typing import Any, Optional, Sequence

from nearfetch.dense import BLOCK, Dense
from nearfetch.elements import view_of
from nearfetch.errors import Error
from nearfetch.indexing import pieces_of
from nearfetch.numerical import np
from nearfetch.prefetching import EachDimension, depths_of, for_each_dimension, values_of

__all__ = ["Halos", "checked_halo"]


class Halos(Dense):
    """A rank's own part as a block of the array, and the halo around it."""

    @property
    def local_box(self) -> tuple[slice, ...]:
        """The slices of this rank's block: `a[a.local_box]` is a copy of `a.local`. For blocks only."""
        if self._distribution != BLOCK:
            raise Error(
                f"local_box of a {type(self).__name__} (what a rank owns is no box): use local_indices"
            )
        own = [self._own_indices(dimension) for dimension in range(self.ndim)]
        return tuple(slice(indices.start, indices.stop) for indices in own)

    @property
    def halo(self) -> int:
        """For how many rows before own ones, and after them, there is room in each rank's memory."""
        return self._halo

    def with_halo(
        self,
        depth: EachDimension[int] = 1,
        *,
        periodic: EachDimension[bool] = False,
        out: Optional[np.ndarray] = None,
    ) -> tuple[np.ndarray, tuple[slice, ...]]:
        """This rank's block with a halo of `depth` around it, and the indices that it covers, as slices.

        `depth` and `periodic` are for all dimensions, or a sequence with one for each. A halo ends at the
        array's bounds; where it is periodic it goes on at the opposite ones, and the slices name indices
        beyond the bounds. After `prefetch_stencil` with the same arguments it needs no communication.

        It is a view of the rank's memory if the array was made with `halo` of at least `depth[0]`, `out` is
        not given, and no other dimension has a periodic halo: then own elements are those of `local`, and
        rows of the halo stay until the next call. Else it is a copy. `np.shares_memory(around, a.local)`
        tells which. `out`: memory for the copy, of that shape and the array's dtype.

        For blocks only. Raises Error for a depth below 0, and for an `out` of another shape or dtype.

        >>> from nearfetch import BlockArray, barrier, launch
        >>> def main():
        ...     a = BlockArray((2, 4), dtype=int, grid=(1, 2))
        ...     a.local[...] = np.add.outer(10 * a.local_indices[0], a.local_indices[1])
        ...     barrier()
        ...     around, box = a.with_halo((0, 1), periodic=(False, True))
        ...     return around.tolist(), box[1]
        >>> launch(main, ranks=2)[0]
        ([[3, 0, 1, 2], [13, 10, 11, 12]], slice(-1, 3, None))
        """
        depths = for_each_dimension("depth", depths_of(depth), self.ndim)
        ends = for_each_dimension("periodic", values_of(periodic), self.ndim)
        box = []
        for own, bounds, reach, is_periodic in zip(self.local_box, self.bounds, depths, ends):
            lower, upper = own.start - reach, own.stop + reach
            if own.stop <= own.start:
                lower, upper = own.start, own.start
            elif not is_periodic:
                lower, upper = max(lower, bounds[0]), min(upper, bounds[1])
            box.append(slice(lower, upper))
        beyond_columns = any(reach and is_periodic for reach, is_periodic in zip(depths[1:], ends[1:]))
        if out is None and 0 < self._halo >= depths[0] and not beyond_columns:
            return self._in_place(box, depths[0], bool(ends[0])), tuple(box)
        return self._read_periodic(box, out), tuple(box)

    def _in_place(self, box: Sequence[slice], depth: int, periodic: bool) -> np.ndarray:
        """The elements of a box in this rank's memory: `depth` rows before own ones, and after them."""
        row_bytes = int(np.prod(self.shape[1:], dtype=object)) * self._dtype.itemsize
        held = self._native.with_halo(depth, periodic, 2 * depth * row_bytes)
        return view_of(held, self._dtype).reshape([one.stop - one.start for one in box])

    def _read_periodic(self, box: Sequence[slice], out: Optional[np.ndarray]) -> np.ndarray:
        """The elements of a box that may go beyond the bounds, in `out` if given."""
        shape = tuple(one.stop - one.start for one in box)
        if out is not None and (out.shape != shape or out.dtype != self._dtype):
            raise Error(
                f"with_halo into an array of {out.dtype} {out.shape} (the block with its halo is "
                f"{self._dtype} {shape}): use one of that dtype and shape"
            )
        pieces = [pieces_of(one, bounds) for one, bounds in zip(box, self.bounds)]
        if out is None and all(len(each) == 1 for each in pieces):
            return self[tuple(source for ((_, source),) in pieces)]
        around = np.empty(shape, self._dtype) if out is None else out
        for chosen in itertools.product(*pieces):
            around[tuple(target for target, _ in chosen)] = self[tuple(source for _, source in chosen)]
        return around


def checked_halo(halo: Any) -> int:
    """Raises Error unless it is a whole number that is not negative."""
    if not hasattr(halo, "__index__") or not 0 <= operator.index(halo) < 2**62:
        raise Error(
            f"halo={halo!r} (it is a number of rows: depth of a halo in the first dimension): use 0 or more"
        )
    return operator.index(halo)
