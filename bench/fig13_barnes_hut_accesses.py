# SPDX-License-Identifier: Apache-2.0
"""Fig. 13: access types of Barnes-Hut over |I_w|, fixed and adaptive, |S_w| = 1 MiB."""

from __future__ import annotations

from pathlib import Path

from bench import apps
from bench.fig12_barnes_hut import study
from bench.harness import Options, Report

TITLE = "Barnes-Hut: access types over |I_w| (Fig. 13)"


def run(options: Options) -> Report:
    """One run each."""
    grid = apps.Grid(["1MiB"], options.choose([250, 1000, 4000, 20000], [1000, 20000]))
    return apps.accesses(study(options), grid, options)


def plot(report: Report, path: Path) -> None:
    """One panel per strategy."""
    apps.plot_accesses(report.rows, path, TITLE)
