# SPDX-License-Identifier: Apache-2.0
"""The micro-workload of paper 001, section IV-A, and what a cache without fragmentation would make of it."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import NamedTuple, Sequence

import numpy as np

DISTINCT_GETS = 1000


class Get(NamedTuple):
    """A get, in bytes."""

    offset: int
    size: int


def paper_sequence(seed: int, length: int, distinct: int = DISTINCT_GETS) -> list[Get]:
    """Z = `length` gets, drawn from N = `distinct` different ones by normal(N/2, N/4).

    The N have 2^i bytes each, i uniform in 0..16, and lie one after the other.
    What is drawn outside of the N is drawn again. Every get occurs at a displacement of its own.
    """
    random = np.random.default_rng(seed)
    sizes = 2 ** random.integers(0, 17, distinct)
    offsets = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < length:
        more = np.floor(random.normal(distinct / 2, distinct / 4, length)).astype(np.int64)
        drawn = np.concatenate((drawn, more[(more >= 0) & (more < distinct)]))
    return [Get(int(offsets[i]), int(sizes[i])) for i in drawn[:length]]


BLOCK_BYTES = 4096
BLOCKS, RANGES = 1024, 256
RANGE_BYTES, RANGE_STRIDE = 16384, 65536


def mixed_sequence(seed: int, small_shares: Sequence[float], length: int) -> list[Get]:
    """Small gets in blocks of memory, and large ones of ranges: `length` gets for each of `small_shares`.

    A small get has 8 bytes anywhere in one of BLOCKS blocks of BLOCK_BYTES, a large one is one of RANGES
    ranges of RANGE_BYTES behind them. Both are popular by Zipf's law (exponent 0.8), in random order.
    """
    random = np.random.default_rng(seed)

    def popular(count: int, draws: int) -> np.ndarray:
        weights = np.arange(1, count + 1) ** -0.8
        return random.permutation(count)[random.choice(count, draws, p=weights / weights.sum())]

    gets = []
    for share in small_shares:
        blocks, ranges = popular(BLOCKS, length), popular(RANGES, length)
        words = random.integers(0, BLOCK_BYTES // 8, length)
        for i, is_small in enumerate(random.random(length) < share):
            if is_small:
                gets.append(Get(int(blocks[i]) * BLOCK_BYTES + int(words[i]) * 8, 8))
            else:
                gets.append(Get(BLOCKS * BLOCK_BYTES + int(ranges[i]) * RANGE_STRIDE, RANGE_BYTES))
    return gets


def write_sequence(gets: list[Get], path: Path) -> Path:
    """Writes one `offset size` per line; returns `path`."""
    path.write_text("".join(f"{get.offset} {get.size}\n" for get in gets), encoding="utf-8")
    return path


def unfragmented_gdsf_hits(gets: list[Get], capacity_bytes: int) -> int:
    """Hits of online GDSF on an unfragmented store: no rounding, and no bound on the entries.

    It knows nothing of later gets, admits whatever fits at all, and forgets the frequency of what it evicts.
    """
    entries: dict[int, list[float]] = {}
    heap: list[tuple[float, int, int]] = []
    clock, used, hits = 0.0, 0, 0
    for number, (offset, size) in enumerate(gets):
        if offset in entries:
            hits += 1
            entries[offset][1] += 1
        elif size > capacity_bytes:
            continue
        else:
            while used + size > capacity_bytes:
                value, _, victim = heapq.heappop(heap)
                if victim in entries and entries[victim][0] == value:
                    clock = value
                    used -= int(entries.pop(victim)[2])
            used += size
            entries[offset] = [0.0, 1.0, size]
        entries[offset][0] = clock + entries[offset][1] / size
        heapq.heappush(heap, (entries[offset][0], number, offset))
    return hits
