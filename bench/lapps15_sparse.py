# SPDX-License-Identifier: Apache-2.0
"""A sparse matrix times a vector in versions, at the paper's size (004, Fig. 15).

A matrix of 2^20 rows with 25 non-zeros each, over 1 to 32 ranks. One product is compared, after one that is
not measured. The figures to reach are the paper's, on InfiniBand (`fdr-ib`) and, where it has one, on Gemini
(`aries`), over base with the page cache on. Without a cache each access is a message, so it is compared at a
smaller size (`small`). Times are virtual: of the network, the cache, what arrays copy, and the loop's work.
"""

from __future__ import annotations

from bench import versions
from bench.harness import Options
from bench.report import Report

TITLE = "A sparse matrix times a vector in versions, at the paper's size (004, Fig. 15)"


def run(options: Options) -> Report:
    """Strong and weak scaling, and the small size."""
    return versions.figure(versions.SPARSE, options)
