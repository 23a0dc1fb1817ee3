# SPDX-License-Identifier: Apache-2.0
"""Fig. 12: Barnes-Hut force time per body over |S_w| and |I_w|, against plain and its own block cache."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import apps
from bench.harness import Options, Place, Report

TITLE = "Barnes-Hut: force time per body over |S_w| and |I_w| (Fig. 12)"

PLACE = Place("openmpi", 4, "tcp")


def arguments(options: Options) -> list[object]:
    """The simulation that Fig. 12 and 13 look at."""
    return ["--bodies", options.choose(8000, 2000), "--max-bodies", options.choose(60, 10)]


def run(options: Options) -> Report:
    """All sides take turns; forces have to be the same, bit for bit."""
    grid = options.choose(apps.Grid(["256KiB", "1MiB", "4MiB"], [1000, 20000]), apps.Grid(["1MiB"], [1000]))
    rounds = options.rounds_or(5, 1)
    report = Report(
        {"program": ["barnes_hut", *arguments(options)], "place": str(PLACE), "ranks": PLACE.ranks}
    )
    report.parameters.update({"buffer_bytes": grid.buffers, "index_entries": grid.entries, "rounds": rounds})
    measure = partial(apps.measure, "barnes_hut")
    calls = {("plain", "", 0): partial(measure, arguments(options), PLACE)}
    for size in grid.buffers:
        native = [*arguments(options), "--cache", "block", "--cache-bytes", size]
        calls["native", size, 0] = partial(measure, native, PLACE)
    for key, side in grid.sides("user-defined").items():
        calls[key] = partial(measure, arguments(options), PLACE, side)
    report.rows, _ = apps.compare(calls, "force_seconds_per_body", "checksum", rounds, options, "barnes_hut")
    report.columns = ("strategy", "buffer_bytes", "index_entries", "seconds", "speed_up", "hits", "resizes")
    return report


def plot(report: Report, path: Path) -> None:
    """One panel per |I_w|."""
    apps.plot_times(report.rows, "force time per body, s", path, TITLE)
