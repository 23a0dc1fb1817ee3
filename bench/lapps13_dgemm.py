# SPDX-License-Identifier: Apache-2.0
"""DGEMM in versions, at half of the paper's order (004, Fig. 13).

Matrices of 2,048 x 2,048 elements in blocks of 32, over 1 to 32 ranks. With the paper's 4,096 base reads 4.3
billion elements one by one, which takes a quarter of an hour. The figures to reach are the paper's, on
InfiniBand (`fdr-ib`) and, where it has one, on Gemini (`aries`), over base with the page cache on. Without a
cache each access is a message, so it is compared at a smaller size (`small`). Times are virtual: of the
network, the cache, what arrays copy, and the loop's work.
"""

from __future__ import annotations

from bench import versions
from bench.harness import Options
from bench.report import Report

TITLE = "DGEMM in versions, at half of the paper's order (004, Fig. 13)"


def run(options: Options) -> Report:
    """Strong and weak scaling, and the small size."""
    return versions.figure(versions.DGEMM, options)
