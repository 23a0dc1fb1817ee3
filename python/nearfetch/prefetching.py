# SPDX-License-Identifier: Apache-2.0
"""Prefetching for distributed arrays: patterns, phases and transfers."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Optional, Sequence, TypeVar, Union

from nearfetch.errors import Error
from nearfetch.indexing import select_existing

__all__ = ["ArrayPrefetching", "PrefetchPhase", "PrefetchTransfer", "Prefetching"]

_Value = TypeVar("_Value")
EachDimension = Union[_Value, Sequence[_Value]]
"""One value for all dimensions, or one for each."""

Around = tuple[list[int], bool, list[int]]
"""A stencil for the native side: depth, corners, periodic. The lists have one number, or one a dimension."""

_STENCIL, _ROW_WISE, _COLUMN_WISE, _TRANSPOSE = range(4)


class PrefetchPhase:
    """The result of a pattern: `with array.prefetch_stencil(1): ...` evicts at its end.

    That evicts what no other pattern needs, so phases nest. Without `with` it stays until
    `array.evict_prefetch()`, which evicts the data of all patterns.
    """

    def __init__(self, array: Prefetching, pattern: int) -> None:
        self._array = array
        self._pattern: Optional[int] = pattern

    def update(self) -> None:
        """Fetches all of it again, as `array.update_prefetch()` does."""
        self._array.update_prefetch()

    def __enter__(self) -> PrefetchPhase:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pattern is not None:
            self._array._native.evict_prefetch(self._pattern)
        self._pattern = None


class PrefetchTransfer:
    """A fetch of prefetched elements that runs while the rank computes; `with` waits at its end."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def test(self) -> bool:
        """Whether `wait()` would return at once."""
        return self._native.test()

    def wait(self) -> None:
        """Makes the fetched data visible."""
        self._native.wait()

    def __enter__(self) -> PrefetchTransfer:
        return self

    def __exit__(self, kind: Optional[type], *exception: object) -> None:
        if kind is None:
            self.wait()


class Prefetching:
    """The common part of arrays and sparse matrices for prefetching remote elements.

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
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches what rank r needs: row r of `table`, which is the same on all ranks.

        A row has keys of `a[...]`, with integers and slices without steps: `[np.s_[2:5, :], (7, 0)]`. Own
        indices and indices out of bounds are skipped.
        """
        rows = [[self._box(key) for key in row] for row in table]
        return PrefetchPhase(
            self, self._native.prefetch_custom(rows, (consistent, static_domain, barrier, later))
        )

    def prefetch_all_to_all(
        self,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches all elements."""
        return PrefetchPhase(
            self, self._native.prefetch_all_to_all((consistent, static_domain, barrier, later))
        )

    def update_prefetch(self) -> None:
        """Fetches all prefetched elements again, with their values at the last barrier or later."""
        self._native.update_prefetch()

    def update_prefetch_async(self) -> PrefetchTransfer:
        """The same while the rank computes: `with a.update_prefetch_async(): ...` waits at its end."""
        return PrefetchTransfer(self._native.update_prefetch_async())

    def evict_prefetch(self) -> None:
        """Drops all prefetched elements and their memory. Not collective."""
        self._native.evict_prefetch()

    def _box(self, key: Any) -> tuple[list[int], list[int]]:
        """A key of a table as a box; indices out of bounds give an empty one."""
        chosen = select_existing(key, self._lower, self._upper)
        if not chosen.is_box:
            raise Error(f"{key} in a table (it has steps): name the boxes one by one")
        return (list(self._lower), list(self._lower)) if chosen.is_empty else (chosen.lower, chosen.upper)


class ArrayPrefetching(Prefetching):
    """The patterns of arrays."""

    def prefetch_stencil(
        self,
        depth: EachDimension[int] = 1,
        corners: bool = True,
        *,
        periodic: EachDimension[bool] = False,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches elements up to `depth` away from own ones; without corners, along one dimension.

        `depth` and `periodic` are for all dimensions, or a sequence with one for each; a depth of 0 in a
        dimension needs nothing there. `periodic`: beyond a bound the array goes on at the opposite one.

        For all patterns: `a[i, j]`, and slices that are own or prefetched, read the data locally until
        `evict_prefetch()` or the end of a `with`. `consistent`: a read after an acquire sees what the
        owner had then. Otherwise data is as old as the last `update_prefetch()`, and reads are cheaper.
        `static_domain`: owners stay passive, unless the data is in very many runs. `barrier`: the pattern
        begins with a barrier. Without it the pattern waits for no rank, and sees what owners wrote before
        the program's last barrier. `later`: nothing is fetched before `update_prefetch_async()`, while the
        rank computes, or `update_prefetch()`.

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
        around = around_of(depth, corners, periodic)
        return self._prefetch(_STENCIL, (consistent, static_domain, barrier, later), around)

    def prefetch_row_wise(
        self,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches elements that differ from own ones in the last index only."""
        return self._prefetch(_ROW_WISE, (consistent, static_domain, barrier, later))

    def prefetch_column_wise(
        self,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches elements that differ from own ones in the first index only."""
        return self._prefetch(_COLUMN_WISE, (consistent, static_domain, barrier, later))

    def prefetch_transpose(
        self,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches `a[j, i]` for each own `a[i, j]`, if it is in bounds. For matrices."""
        return self._prefetch(_TRANSPOSE, (consistent, static_domain, barrier, later))

    def observe(self, most_bytes: int = 16 << 20) -> None:
        """Starts to record which remote elements this rank reads, boxes excepted, up to so much memory."""
        self._native.observe(most_bytes)

    def observed(self) -> dict[str, int]:
        """Counts of the elements recorded, and of reads left out because of the memory limit."""
        return _observation(self._native.observed())

    def prefetch_observed(
        self,
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> dict[str, int]:
        """Prefetches what was read since `observe()`, which ends; returns its counts. Collective."""
        return _observation(self._native.prefetch_observed((consistent, static_domain, barrier, later)))

    def prefetch_stencil_async(
        self,
        depth: EachDimension[int] = 1,
        corners: bool = True,
        *,
        periodic: EachDimension[bool] = False,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
    ) -> PrefetchTransfer:
        """`prefetch_stencil(later=True)` and `update_prefetch_async()`. Collective."""
        around = around_of(depth, corners, periodic)
        return PrefetchTransfer(
            self._native.prefetch_stencil_async(around, (consistent, static_domain, barrier, True))
        )

    def _prefetch(
        self, pattern: int, how: tuple[bool, bool, bool, bool], around: Around = ([1], True, [False])
    ) -> PrefetchPhase:
        return PrefetchPhase(self, self._native.prefetch(pattern, around, how))


def around_of(depth: EachDimension[int], corners: bool, periodic: EachDimension[bool]) -> Around:
    """Raises Error for what is no depth, and for a halo without elements."""
    depths = depths_of(depth)
    if not any(depths):
        raise Error(f"a stencil of depth {depth!r} (it reaches at least 1 element far): use 1 or more")
    return depths, bool(corners), [int(bool(each)) for each in values_of(periodic)]


def depths_of(depth: EachDimension[int]) -> list[int]:
    """Raises Error unless they are whole numbers that are not negative."""
    depths = values_of(depth)
    if not all(hasattr(each, "__index__") and 0 <= each < 2**62 for each in depths):
        raise Error(f"a halo of depth {depth!r} (it is how far a halo reaches): use 0 or more")
    return [operator.index(each) for each in depths]


def values_of(values: EachDimension[_Value]) -> list[_Value]:
    """One value, or one for each dimension."""
    return list(values) if isinstance(values, Iterable) else [values]


def for_each_dimension(what: str, values: list[_Value], dimensions: int) -> list[_Value]:
    """As many values as there are dimensions. Raises Error for another number, unless it is 1."""
    if len(values) not in (1, dimensions):
        raise Error(
            f"a halo with {len(values)} values of {what} (the array has {dimensions} dimensions): use one "
            "for each, or one for all"
        )
    return values * dimensions if len(values) == 1 else values


def _observation(seen: tuple[int, int]) -> dict[str, int]:
    return {"elements": seen[0], "left_out": seen[1]}
