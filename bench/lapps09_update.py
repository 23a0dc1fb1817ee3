# SPDX-License-Identifier: Apache-2.0
"""All of a distributed matrix for every rank: updates of what is prefetched (004, Fig. 9).

As lapps08, ten times. Owners change their elements between, and all ranks meet at a barrier.
"""

from __future__ import annotations

from bench import lapps08_initialisation
from bench.harness import Options
from bench.report import Report

TITLE = "All of a distributed matrix for every rank: again and again (004, Fig. 9)"

ITERATIONS = 10
"""The first of them is what lapps08 measures."""


def run(options: Options) -> Report:
    """As lapps08, with owners that change their elements and a barrier between the iterations."""
    orders = options.choose([64, 256, 1024, 2048], [24, 48])
    return lapps08_initialisation.compared(options, options.choose(ITERATIONS, 3), orders, "update")
