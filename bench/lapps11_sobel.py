# SPDX-License-Identifier: Apache-2.0
"""Sobel's edge detection in versions, at the paper's size (004, Fig. 11).

A picture of 20,000 x 20,000 pixels, over 1 to 32 ranks. The figures to reach are the paper's, on InfiniBand
(`fdr-ib`) and, where it has one, on Gemini (`aries`), over base with the page cache on. Without a cache each
access is a message, so it is compared at a smaller size (`small`). Times are virtual: of the network, the
cache, what arrays copy, and the loop's work.
"""

from __future__ import annotations

from bench import versions
from bench.harness import Options
from bench.report import Report

TITLE = "Sobel's edge detection in versions, at the paper's size (004, Fig. 11)"


def run(options: Options) -> Report:
    """Strong and weak scaling, and the small size."""
    return versions.figure(versions.SOBEL, options)
