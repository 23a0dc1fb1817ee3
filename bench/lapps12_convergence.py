# SPDX-License-Identifier: Apache-2.0
"""Heat diffusion to convergence in versions (004, Fig. 12).

A cube of 64 cells along each edge, over 32 ranks, until no cell changes by more than 10^-5 in a step. Each
step ends with a reduction over all ranks. All versions take the same steps to the same result. The paper's
400 cells take 25,000 steps; `lapps12_heat` has the first of them. Times are virtual: of the network, the
cache, what arrays copy, and the loop's work.
"""

from __future__ import annotations

from bench import pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Bars
from bench.report import Claim, Interval, Report, finding
from bench.versions import BEST, CACHED, HAND, HEAT, NETWORKS, SIDES, beside

TITLE = "Heat diffusion to convergence, in versions (004, Fig. 12)"

COMPARED = (CACHED, "ac-sd", BEST, HAND)
FASTER = 1.5
"""What the paper's `ac-sd` has over its base."""


def run(options: Options) -> Report:
    """The versions on two networks, until nothing changes any more."""
    cells, ranks = options.choose((64, 32), (8, 4))
    report = Report(
        {"heat_work_ns": HEAT.work_ns}, columns="network ranks size side steps seconds over_base over_hand"
    )
    sides = {side: SIDES[side] for side in COMPARED}
    words = ["--cells", cells, "--steps", 1_000_000, "--work-ns", HEAT.work_ns]
    for network in NETWORKS:
        stage = Stage(network, "virtual")
        compared = pgas.compare("heat", words, stage, 1, options, ranks, sides, CACHED)
        rows = {row["side"]: row for row in beside(compared, "converged", cells)}
        for row in compared:
            row["steps"] = row["counters"]["steps"]
        report.rows += compared
        text = f"heat to convergence with {ranks} ranks on {stage}"
        for side in COMPARED[1:]:
            what = f"{text}, {side} over {CACHED}"
            report.findings.append(finding(what, rows[CACHED], rows[side], "seconds", "s", "over_base"))
        over_base, over_hand = (
            Interval.in_row(rows[side], column)
            for side, column in (("ac-sd", "over_base"), (BEST, "over_hand"))
        )
        steps = f"{rows[CACHED]['steps']:,} steps"
        report.claims += [
            Claim.at_least(f"{text}, ac-sd over {CACHED}", FASTER, over_base, "times faster", steps),
            Claim.at_least(f"{text}, {BEST} over {HAND}", 1, over_hand, "times", steps),
        ]
    report.pictures = [Bars(report.rows, "over_base", ["side"], ["network"])]
    return report
