# SPDX-License-Identifier: Apache-2.0
"""What a get or put of 8 bytes costs through the page cache: time, and instructions by callgrind."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from bench import harness, plots
from bench.callgrind import instructions_each
from bench.harness import Claim, Options, Report, Row, Spread, alternate

TITLE = "Page cache: what a get or put of 8 bytes costs"

PATTERNS = {
    "hit": "hit in one page",
    "hit-anywhere": "hit anywhere in the cache",
    "put": "put into one page",
    "miss": "miss, on a network that takes no time",
}
HIT_NS = 15.0


def run(options: Options) -> Report:
    """The patterns take turns, with and without the cache."""
    rounds = options.rounds_or(9, 1)
    counts = {
        pattern: options.choose(500_000 if pattern == "miss" else 20_000_000, 20_000) for pattern in PATTERNS
    }
    calls = {
        (pattern, side, 0): partial(_measure, pattern, counts[pattern], side == "cached")
        for pattern in PATTERNS
        for side in ("cached", "uncached")
    }
    results = alternate(calls, rounds, options, "page_cache_cost")
    report = Report({"rounds": rounds, "counts": counts, "instructions": "callgrind"})
    for (pattern, side, _), rows in results.items():
        row: Row = {"access": PATTERNS[pattern], "side": side}
        row.update(Spread.of([result["ns_each"] for result in rows]).columns("ns"))
        counted = side == "cached" or not options.quick
        words = partial(_words, pattern, cached=side == "cached")
        # Only what the loop calls is counted: what threads do beside it is not the same in every run.
        loops = ("*get_in_turn*", "*get_by_chance*", "*put_in_turn*")
        row["instructions"] = instructions_each(words, 1000, 3000, loops) if counted else None
        row["hits"], row["misses"] = rows[0]["hits"], rows[0]["misses"]
        report.rows.append(row)
    report.columns = ("access", "side", "ns", "ns_q1", "ns_q3", "instructions")
    for pattern in ("hit", "hit-anywhere"):
        what = PATTERNS[pattern]
        (hit,) = [row for row in report.rows if row["access"] == what and row["side"] == "cached"]
        detail = f"quartiles {hit['ns_q1']:.3g} to {hit['ns_q3']:.3g} ns"
        report.claims.append(Claim.at_most(f"8 bytes, {what}", HIT_NS, hit["ns"], "ns", detail))
    return report


def _measure(pattern: str, count: int, cached: bool) -> Row:
    output = harness.execute(_words(pattern, count, cached))
    return next(json.loads(line) for line in output.splitlines() if line.startswith("{"))


def _words(pattern: str, count: int, cached: bool) -> list[str]:
    program = str(harness.core_program("page_cache_cost"))
    words = [program, "--pattern", pattern, "--count", str(count)]
    return words if cached else [*words, "--no-cache"]


def plot(report: Report, path: Path) -> None:
    """The time and the instructions of each."""
    figure, axes = plots.panels(2, width=5.5, height=3.6)
    labels = [f"{row['access']}\n{row['side']}" for row in report.rows]
    for axis, column in zip(axes, ("ns", "instructions")):
        bars = axis.barh(labels, [row[column] or 0 for row in report.rows], color=plots.COLORS["direct"])
        axis.bar_label(bars, fmt="%.3g", fontsize=7)
        axis.invert_yaxis()
        axis.set_title(column)
    plots.save(figure, path, TITLE)
