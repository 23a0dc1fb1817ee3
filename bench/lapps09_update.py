# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 9: what an update of all that is prefetched costs, against copying the same by hand."""

from __future__ import annotations

from pathlib import Path

from bench import lapps08_initialisation
from bench.harness import Options, Report

TITLE = "All of a distributed matrix for every rank: again and again (004, Fig. 9)"

ITERATIONS = 10
"""The first of them is what lapps08 measures."""


def run(options: Options) -> Report:
    """As lapps08, with owners that change their elements and a barrier between the iterations."""
    orders = options.choose([64, 256, 1024], [24, 48])
    return lapps08_initialisation.compared(options, options.choose(ITERATIONS, 3), orders, "update")


def plot(report: Report, path: Path) -> None:
    """How many times faster than by hand, over sizes for each stage; and seconds over ranks."""
    lapps08_initialisation.drawn(report, path, TITLE)
