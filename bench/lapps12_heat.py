# SPDX-License-Identifier: Apache-2.0
"""Heat diffusion in versions, at the paper's size (004, Fig. 12).

A cube of 400 cells along each edge, over 1 to 32 ranks. The first 5 steps are compared: to convergence there
are 25,000, each like these. `lapps12_convergence` has all steps of a smaller cube. The figures to reach are
the paper's, on InfiniBand (`fdr-ib`) and, where it has one, on Gemini (`aries`), over base with the page
cache on. Without a cache each access is a message, so it is compared at a smaller size (`small`). Times are
virtual: of the network, the cache, what arrays copy, and the loop's work.
"""

from __future__ import annotations

from bench import versions
from bench.harness import Options
from bench.report import Report

TITLE = "Heat diffusion in versions, at the paper's size (004, Fig. 12)"


def run(options: Options) -> Report:
    """Strong and weak scaling, and the small size."""
    return versions.figure(versions.HEAT, options)
