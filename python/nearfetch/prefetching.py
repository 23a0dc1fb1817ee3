# SPDX-License-Identifier: Apache-2.0
"""Prefetching for distributed arrays: the patterns, phases and transfers."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from nearfetch.errors import Error
from nearfetch.indexing import select_existing

__all__ = ["ArrayPrefetching", "PrefetchPhase", "PrefetchTransfer", "Prefetching"]

_STENCIL, _ROW_WISE, _COLUMN_WISE, _TRANSPOSE = range(4)


class PrefetchPhase:
    """What a pattern returns: so `with array.prefetch_stencil(1): ...` evicts at its end.

    That is what all its patterns have brought. Without `with` it stays until `array.evict_prefetch()`.
    """

    def __init__(self, array: Prefetching) -> None:
        self._array = array

    def update(self) -> None:
        """Fetches it all anew, as `array.update_prefetch()` does."""
        self._array.update_prefetch()

    def __enter__(self) -> PrefetchPhase:
        return self

    def __exit__(self, *exception: object) -> None:
        self._array.evict_prefetch()


class PrefetchTransfer:
    """Prefetched elements on their way while the rank computes; `with` waits for them at its end."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def test(self) -> bool:
        """Whether `wait()` would not wait."""
        return self._native.test()

    def wait(self) -> None:
        """From now on what has come is what is read."""
        self._native.wait()

    def __enter__(self) -> PrefetchTransfer:
        return self

    def __exit__(self, kind: Optional[type], *exception: object) -> None:
        if kind is None:
            self.wait()


class Prefetching:
    """What arrays and sparse matrices have in common about elements of others that their rank will read.

    Patterns are collective, and add up.
    """

    _native: Any
    _lower: list[int]
    _upper: list[int]

    def prefetch_custom(
        self,
        table: Sequence[Sequence[Any]],
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
    ) -> PrefetchPhase:
        """Prefetches what rank r needs: it stands in row r of `table`, which is the same on all ranks.

        A row has keys as they stand in `a[...]`, of numbers and slices without steps: `[np.s_[2:5, :], (7,
        0)]`. Own indices, and such as do not exist, are left out.
        """
        rows = [[self._box(key) for key in row] for row in table]
        self._native.prefetch_custom(rows, (consistent, static_domain, barrier))
        return PrefetchPhase(self)

    def prefetch_all_to_all(
        self, *, consistent: bool = True, static_domain: bool = False, barrier: bool = True
    ) -> PrefetchPhase:
        """Prefetches everything."""
        self._native.prefetch_all_to_all((consistent, static_domain, barrier))
        return PrefetchPhase(self)

    def update_prefetch(self) -> None:
        """Fetches all that is prefetched anew: what was there at the last barrier, or later."""
        self._native.update_prefetch()

    def update_prefetch_async(self) -> PrefetchTransfer:
        """The same while the rank computes: `with a.update_prefetch_async(): ...` waits at its end."""
        return PrefetchTransfer(self._native.update_prefetch_async())

    def evict_prefetch(self) -> None:
        """Forgets what is prefetched, and gives its memory back. Not collective."""
        self._native.evict_prefetch()

    def _box(self, key: Any) -> tuple[list[int], list[int]]:
        """A key of a table; numbers that do not exist become boxes that have none of the array."""
        chosen = select_existing(key, self._lower, self._upper)
        if not chosen.is_box:
            raise Error(f"{key} in a table (it has steps): name the boxes one by one")
        return (list(self._lower), list(self._lower)) if chosen.is_empty else (chosen.lower, chosen.upper)


class ArrayPrefetching(Prefetching):
    """The patterns of arrays."""

    def prefetch_stencil(
        self,
        depth: int = 1,
        corners: bool = True,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
    ) -> PrefetchPhase:
        """Prefetches what is up to `depth` away from own elements; without corners, along one dimension.

        Of all patterns: what they bring is read by `a[i, j]`, and by slices of which all is own or
        prefetched, until `evict_prefetch()` or the end of a `with`. `consistent`: a read after an acquire
        sees what its owner had then; else data is as old as the last `update_prefetch()`, and reads cost
        less. `static_domain`: owners take no part in sending it, but for what would come in very many pieces.
        `barrier`: the pattern begins with one. Without, it waits for nobody, and what owners have written is
        there if the program has had a barrier since.

        >>> from nearfetch import BlockArray, barrier, launch, statistics
        >>> def main():
        ...     a = BlockArray(12, dtype=int)
        ...     a.local[...] = a.local_indices[0]
        ...     barrier()
        ...     with a.prefetch_stencil(1, consistent=False):
        ...         before = statistics()["get_messages"]
        ...         halo, _ = a.with_halo(1)
        ...         return halo.tolist(), statistics()["get_messages"] - before
        >>> launch(main, ranks=3)[1]
        ([3, 4, 5, 6, 7, 8], 0)
        """
        return self._prefetch(_STENCIL, (consistent, static_domain, barrier), depth, corners)

    def prefetch_row_wise(
        self, *, consistent: bool = True, static_domain: bool = False, barrier: bool = True
    ) -> PrefetchPhase:
        """Prefetches all that differs from own elements in the last index only."""
        return self._prefetch(_ROW_WISE, (consistent, static_domain, barrier))

    def prefetch_column_wise(
        self, *, consistent: bool = True, static_domain: bool = False, barrier: bool = True
    ) -> PrefetchPhase:
        """Prefetches all that differs from own elements in the first index only."""
        return self._prefetch(_COLUMN_WISE, (consistent, static_domain, barrier))

    def prefetch_transpose(
        self, *, consistent: bool = True, static_domain: bool = False, barrier: bool = True
    ) -> PrefetchPhase:
        """Prefetches `a[j, i]` for each own `a[i, j]`, where there is one. Of matrices."""
        return self._prefetch(_TRANSPOSE, (consistent, static_domain, barrier))

    def observe(self, most_bytes: int = 16 << 20) -> None:
        """Remembers from now on which elements this rank reads from others one by one, in so much memory."""
        self._native.observe(most_bytes)

    def observed(self) -> dict[str, int]:
        """How many elements were remembered, and how many reads were left out for want of memory."""
        return _observation(self._native.observed())

    def prefetch_observed(
        self, *, consistent: bool = True, static_domain: bool = False, barrier: bool = True
    ) -> dict[str, int]:
        """Prefetches what was read since `observe()`, which ends there; returns what that was. Collective."""
        return _observation(self._native.prefetch_observed((consistent, static_domain, barrier)))

    def prefetch_stencil_async(
        self,
        depth: int = 1,
        corners: bool = True,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
    ) -> PrefetchTransfer:
        """As `prefetch_stencil`, while the rank computes: a `with` waits at its end. Collective."""
        _check_depth(depth)
        return PrefetchTransfer(
            self._native.prefetch_stencil_async(depth, corners, (consistent, static_domain, barrier))
        )

    def _prefetch(
        self, pattern: int, how: tuple[bool, bool, bool], depth: int = 1, corners: bool = True
    ) -> PrefetchPhase:
        _check_depth(depth)
        self._native.prefetch(pattern, depth, corners, how)
        return PrefetchPhase(self)


def _check_depth(depth: int) -> None:
    if not hasattr(depth, "__index__") or not 0 < depth < 2**62:
        raise Error(f"a stencil of depth {depth!r} (it reaches at least 1 element far): use 1 or more")


def _observation(seen: tuple[int, int]) -> dict[str, int]:
    return {"elements": seen[0], "left_out": seen[1]}
