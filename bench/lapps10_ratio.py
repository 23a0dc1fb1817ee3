# SPDX-License-Identifier: Apache-2.0
"""A star-shaped stencil on 2 ranks, over the share of accesses that are remote (004, Fig. 10).

The star grows until a point reads all of its row and column: a quarter of the accesses is remote then.
There the paper is 60 times faster than its base with automatic (`ac`), and 100 times with manual
consistency (`mc`). Its base has the page cache on, and so has the base that is compared here. `base, no
cache` is shown beside it.
"""

from __future__ import annotations

from typing import Sequence

from bench import harness, pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, finding, worst
from bench.versions import CACHED, HAND, NETWORK, UNCACHED

TITLE = "A star-shaped stencil, over the share of remote accesses (004, Fig. 10)"

SAMPLES = 7

SIDES = {
    UNCACHED: ("--version", "base", "--no-cache"),
    **{name: ("--version", name) for name in (CACHED, "ac", "mc", HAND)},
}
ITERATIONS = 2
FASTER = {"ac": 60, "mc": 100}
"""What the paper has over its base, which has the cache on, at its largest ratio, 25 %."""


def run(options: Options) -> Report:
    """Two ranks, a grid of fixed size, and stars that grow until a point reads all of its row and column."""
    samples = options.samples(SAMPLES)
    columns = "network order radius remote_ratio side seconds speed_up over_uncached"
    report = Report({"samples": samples, "network": NETWORK, "iterations": ITERATIONS}, columns=columns)
    work_ns = _work_ns(options)
    report.parameters["work_ns"] = work_ns
    stages = [Stage(NETWORK, "virtual"), Stage(NETWORK, "wall"), Stage("tcp", "mpi", harness.families()[0])]
    for stage in stages:
        order = options.choose(128 if stage.time == "virtual" else 64, 16)
        for radius in _radii(order, options):
            words = ["--order", order, "--radius", radius, "--iterations", ITERATIONS]
            words += ["--work-ns", work_ns] if stage.time == "virtual" else []
            report.rows += _rows(words, stage, samples, options, {"order": order, "radius": radius})
    report.pictures = [Lines(report.rows, "speed_up", "remote_ratio", "side", ["network"], log="y")]
    for stage in stages:
        _compare(report, pgas.find(report.rows, time=stage.time))
    return report


def _radii(order: int, options: Options) -> list[int]:
    """In powers of two, and the one at which the largest ratio is reached."""
    powers = [2**n for n in range(order.bit_length()) if 2**n < order - 1]
    return [*options.choose(powers, [1]), order - 1]


def _work_ns(options: Options) -> float:
    """What an access takes on this machine, as the hand-optimised version has it on one rank."""
    order = options.choose(128, 32)
    words = ["--order", order, "--radius", order - 1, "--iterations", ITERATIONS, "--version", HAND]
    times = [pgas.measure("star", words, Stage(NETWORK, "wall"), 1)["seconds"] for _ in range(5)]
    return float(f"{min(times) * 1e9 / (ITERATIONS * 2 * order**3):.2g}")


def _rows(
    words: Sequence[object], stage: Stage, samples: int, options: Options, more: dict[str, int]
) -> list[Row]:
    ratio = pgas.measure("star", [*words, "--version", HAND], stage)["remote_ratio"]
    rows = pgas.compare("star", words, stage, samples, options, 2, SIDES, CACHED)
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"remote_ratio": round(ratio, 4), **more})
        row.update(Interval.of_ratios(seconds[UNCACHED], row["each_seconds"]).columns("over_uncached"))
    return rows


def _compare(report: Report, rows: Sequence[Row]) -> None:
    """Adds the claims and findings of a stage: at the largest ratio, and at the worst for prefetching."""
    where = rows[0]["network"]
    largest = max(row["remote_ratio"] for row in rows)
    at_largest = {row["side"]: row for row in pgas.find(rows, remote_ratio=largest)}
    for side, faster in FASTER.items():
        text = f"{where}, {side} over {CACHED}"
        at_quarter = f"{text} at a ratio of {largest:.0%}"
        report.findings.append(
            finding(at_quarter, at_largest[CACHED], at_largest[side], "seconds", "s", "speed_up")
        )
        speed_up = Interval.in_row(at_largest[side], "speed_up")
        detail = f"over {UNCACHED} {at_largest[side]['over_uncached']:.3g} times"
        report.claims.append(Claim.at_least(at_quarter, faster, speed_up, "times faster", detail))
        every = [
            (Interval.in_row(row, "speed_up"), f"at a ratio of {row['remote_ratio']:.2%}")
            for row in pgas.find(rows, side=side)
        ]
        least, detail = worst(Claim.at_least, every)
        report.claims.append(Claim.at_least(f"{text}, whatever the ratio", 1, least, "times faster", detail))
