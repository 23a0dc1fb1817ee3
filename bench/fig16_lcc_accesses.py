# SPDX-License-Identifier: Apache-2.0
"""Fig. 16: access types of LCC over |I_w|, fixed and adaptive, in a buffer too small for the graph."""

from __future__ import annotations

from pathlib import Path

from bench import apps
from bench.fig15_lcc import study
from bench.harness import Options, Report

TITLE = "LCC: access types over |I_w| (Fig. 16)"


def run(options: Options) -> Report:
    """One run each."""
    grid = apps.Grid(["512KiB"], options.choose([1000, 4000, 16000, 64000], [1000, 16000]))
    return apps.accesses(study(options), grid, options)


def plot(report: Report, path: Path) -> None:
    """One panel per strategy."""
    apps.plot_accesses(report.rows, path, TITLE)
