# SPDX-License-Identifier: Apache-2.0
"""Transpose in versions, at the paper's size (004, Fig. 14).

Matrices of 8,192 x 8,192 elements, dealt out by rows, in tiles of 8, over 1 to 32 ranks. One iteration is
compared: the others are like it. The figures to reach are the paper's, on InfiniBand (`fdr-ib`) and, where
it has one, on Gemini (`aries`), over base with the page cache on. Without a cache each access is a message,
so it is compared at a smaller size (`small`). Times are virtual: of the network, the cache, what arrays
copy, and the loop's work.
"""

from __future__ import annotations

from bench import versions
from bench.harness import Options
from bench.report import Report

TITLE = "Transpose in versions, at the paper's size (004, Fig. 14)"


def run(options: Options) -> Report:
    """Strong and weak scaling, and the small size."""
    return versions.figure(versions.TRANSPOSE, options)
