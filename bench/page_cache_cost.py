# SPDX-License-Identifier: Apache-2.0
"""What a get or put of 8 bytes costs through the page cache, on a network that takes no time.

Hits, puts and misses, and a fence with nothing to write, with the cache and without it; and 1 KiB that
arrays copy when they move rows or columns. Instructions are exact. They are counted where callgrind is
installed. In virtual time each access, message, fence and copy is charged by these times, rounded up: a copy
by the cache lines that it reads. Some of a miss overlaps with its message (000, III-E): the cache makes room
while the bytes travel. Its share of the instructions is its share of the charge.
"""

from __future__ import annotations

import json
from functools import partial

from bench import harness
from bench.callgrind import instructions_each
from bench.harness import Options, alternate
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row, finding

TITLE = "Page cache: what a get or put of 8 bytes costs"

PATTERNS = {
    "hit": "hit in one page",
    "hit-anywhere": "hit anywhere in the cache",
    "put": "put into one page",
    "miss": "miss, on a network that takes no time",
    "fence": "fence, nothing to write",
    "copy-rows": "copy of 1 KiB of rows",
    "copy-columns": "copy of 1 KiB of columns",
}
COUNTS = {"miss": 500_000, "copy-rows": 1_000_000, "copy-columns": 1_000_000}
HIT_NS = 15.0
SAMPLES = 9


def run(options: Options) -> Report:
    """The patterns take turns, with and without the cache."""
    samples = options.samples(SAMPLES)
    counts = {pattern: options.choose(COUNTS.get(pattern, 20_000_000), 20_000) for pattern in PATTERNS}
    calls = {
        (pattern, side, 0): partial(_measure, pattern, counts[pattern], side == "cached")
        for pattern in PATTERNS
        for side in ("cached", "uncached")
    }
    results = alternate(calls, samples, options, "page_cache_cost")
    report = Report({"samples": samples, "counts": counts, "instructions": "callgrind"})
    for (pattern, side, _), rows in results.items():
        row: Row = {"access": PATTERNS[pattern], "side": side}
        row.update(Interval.of([result["ns_each"] for result in rows]).columns("ns"))
        uncached = (result["ns_each"] for result in results[pattern, "uncached", 0])
        row.update(
            Interval.of_ratios(list(uncached), [result["ns_each"] for result in rows]).columns("faster")
        )
        counted = side == "cached" or not options.quick
        words = partial(_words, pattern, cached=side == "cached")
        # Only what the loop calls is counted: what threads do beside it is not the same in every run.
        loops = ("*get_in_order*", "*get_by_chance*", "*put_in_order*", "*fence_often*", "*copy_boxes*")
        row["instructions"] = instructions_each(words, 1000, 3000, loops) if counted else None
        if counted and pattern == "miss" and side == "cached":
            row["overlapped"] = instructions_each(words, 1000, 3000, ("*PageCache*started*",))
        row["hits"], row["misses"] = rows[0]["hits"], rows[0]["misses"]
        report.rows.append(row)
    report.columns = "access side ns ns_low ns_high instructions overlapped"
    rows = {(row["access"], row["side"]): row for row in report.rows}
    for pattern in ("hit", "hit-anywhere"):
        what = PATTERNS[pattern]
        hit, uncached = rows[what, "cached"], rows[what, "uncached"]
        report.claims.append(Claim.at_most(f"8 bytes, {what}", HIT_NS, Interval.in_row(hit, "ns"), "ns"))
        report.findings.append(finding(f"8 bytes, {what}", uncached, hit, "ns", "ns", "faster"))
    report.pictures = [Bars(report.rows, y, ["access", "side"]) for y in ("ns", "instructions")]
    return report


def _measure(pattern: str, count: int, cached: bool) -> Row:
    output = harness.execute(_words(pattern, count, cached))
    return next(json.loads(line) for line in output.splitlines() if line.startswith("{"))


def _words(pattern: str, count: int, cached: bool) -> list[str]:
    program = str(harness.own_program("page_cache_cost"))
    words = [program, "--pattern", pattern, "--count", str(count)]
    return words if cached else [*words, "--no-cache"]
