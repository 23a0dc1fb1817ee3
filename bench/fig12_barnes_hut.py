# SPDX-License-Identifier: Apache-2.0
"""Fig. 12: Barnes-Hut force time per body over |S_w| and |I_w|, against plain and its own block cache."""

from __future__ import annotations

from pathlib import Path

from bench import apps
from bench.harness import Options, Place, Report

TITLE = "Barnes-Hut: force time per body over |S_w| and |I_w| (Fig. 12)"


def study(options: Options) -> apps.Study:
    """The simulation that Fig. 12 and 13 look at."""
    arguments = ["--bodies", options.choose(8000, 2000), "--max-bodies", options.choose(60, 10)]
    return apps.Study("barnes_hut", arguments, Place("openmpi", 4, "tcp"), "user-defined")


def run(options: Options) -> Report:
    """All sides take turns; forces have to be the same, bit for bit."""
    grid = options.choose(apps.Grid(["256KiB", "1MiB", "4MiB"], [1000, 20000]), apps.Grid(["1MiB"], [1000]))
    rounds = options.rounds_or(5, 1)
    bodies = study(options)
    report = bodies.report()
    report.parameters.update({"buffer_bytes": grid.buffers, "index_entries": grid.entries, "rounds": rounds})
    calls = {("plain", "", 0): bodies.call()}
    for size in grid.buffers:
        calls["native", size, 0] = bodies.call(more=["--cache", "block", "--cache-bytes", size])
    read_ahead = {"read ahead": {"read_only_phases": "on"}}
    for key, side in grid.sides(bodies.mode, read_ahead).items():
        calls[key] = bodies.call(side)
    report.rows, _ = apps.compare(calls, "force_seconds_per_body", "checksum", rounds, options, "barnes_hut")
    report.columns = ("strategy", "buffer_bytes", "index_entries", "seconds", "speed_up", "hits", "resizes")
    return report


def plot(report: Report, path: Path) -> None:
    """One panel per |I_w|."""
    apps.plot_times(report.rows, "force time per body, s", path, TITLE)
