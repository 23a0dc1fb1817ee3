# SPDX-License-Identifier: Apache-2.0
"""LCC: access types over the index size, in a buffer that is too small for the graph (001, Fig. 16).

The program is that of Fig. 15. In the paper the adaptive strategy keeps hits above 60 % of the gets from
any start, and conflicting misses are below 1 % with the largest index. Counts are of one run each: nothing
is timed, and nothing is bypassed.
"""

from __future__ import annotations

from bench import apps
from bench.fig15_lcc import study
from bench.harness import Options
from bench.report import Report

TITLE = "LCC: access types over the index size (001, Fig. 16)"


def run(options: Options) -> Report:
    """One run each."""
    grid = apps.Grid(["512KiB"], options.choose([1000, 4000, 16000, 64000], [1000, 16000]))
    report = apps.accesses(study(options), grid, options)
    report.claims = [*apps.reuse_claims(report.rows), *apps.access_claims(report.rows)]
    return report
