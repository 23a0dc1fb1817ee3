# SPDX-License-Identifier: Apache-2.0
"""A star-shaped stencil on real clocks, over the share of accesses that are remote (004, Fig. 10).

As `lapps10_ratio`, with a grid of 64 x 64: 2 ranks on the wall's clock and on MPI over TCP. Its remote part
fits in the page cache, so base reads each line once, and the paper's figures cannot be reached.
"""

from __future__ import annotations

from bench import harness, pgas
from bench.harness import Options
from bench.lapps10_ratio import (
    COLUMNS,
    FASTER,
    ITERATIONS,
    RANKS,
    SIDES,
    SMALL,
    Star,
    beside,
    claim_all_ratios,
    radii,
)
from bench.pgas import Stage
from bench.plots import Lines
from bench.report import Claim, Interval, Report, finding
from bench.versions import CACHED, NETWORK

TITLE = "A star-shaped stencil on real clocks, over the share of remote accesses (004, Fig. 10)"

SAMPLES = 7


def run(options: Options) -> Report:
    """Stars that grow until a point reads all of its row and column."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "network": NETWORK, "iterations": ITERATIONS}, columns=COLUMNS)
    order = options.choose(64, 16)
    sides = {side: SIDES[side] for side in SMALL}
    for stage in (Stage(NETWORK, "wall"), Stage("tcp", "mpi", harness.families()[0])):
        for radius in radii(order, options):
            star = Star(order, radius)
            rows = pgas.compare("star", star.arguments(), stage, samples, options, RANKS, sides, CACHED)
            report.rows += beside(rows, star, pgas.measure("star", star.arguments(), stage)["remote_ratio"])
        rows = pgas.find(report.rows, network=str(stage))
        at_largest = {row["side"]: row for row in pgas.find(rows, radius=order - 1)}
        for side in FASTER[NETWORK]:
            text = f"{stage}, {side} over {CACHED} at a ratio of 25%"
            row = at_largest[side]
            report.findings.append(finding(text, at_largest[CACHED], row, "seconds", "s", "speed_up"))
            over = Interval.in_row(row, "speed_up")
            report.claims.append(Claim.at_least(text, FASTER[NETWORK][side], over, "times faster"))
        claim_all_ratios(report, rows)
    report.pictures = [Lines(report.rows, "speed_up", "remote_ratio", "side", ["network"], log="y")]
    return report
