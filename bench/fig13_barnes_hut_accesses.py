# SPDX-License-Identifier: Apache-2.0
"""Barnes-Hut: access types over the index size, with a buffer of 1 MiB (001, Fig. 13).

The program is that of Fig. 12. A fixed index that is small has many conflicting misses, an adaptive one
has not. Counts are of one run each: nothing is timed, and nothing is bypassed.
"""

from __future__ import annotations

from bench import apps
from bench.fig12_barnes_hut import study
from bench.harness import Options
from bench.report import Report

TITLE = "Barnes-Hut: access types over the index size (001, Fig. 13)"


def run(options: Options) -> Report:
    """One run each."""
    grid = apps.Grid(["1MiB"], options.choose([250, 1000, 4000, 20000], [1000, 20000]))
    report = apps.accesses(study(options), grid, options)
    report.claims = apps.access_claims(report.rows)
    return report
