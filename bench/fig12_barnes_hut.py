# SPDX-License-Identifier: Apache-2.0
"""Barnes-Hut: the force time of a body over the size of buffer and index (001, Fig. 12).

The tree is of 20,000 bodies, as in the paper. Forces are computed on 240 of them, 120 on each of 2 ranks:
over TCP on one machine a plain force takes milliseconds, and all would take minutes. The time is that of
one body. The program's own cache is direct-mapped, of the same size. The paper's algorithm (as-001) has
the same settings otherwise. "Read ahead" is a fixed cache with the promise that the program's phases are
read-only.
"""

from __future__ import annotations

from bench import apps
from bench.harness import Options, Place
from bench.report import Claim, Interval, Report, finding

TITLE = "Barnes-Hut: force time of a body, 240 of 20,000 bodies, 2 ranks (001, Fig. 12)"

SAMPLES = 7
READ_AHEAD = "read ahead"


def study(options: Options) -> apps.Study:
    """The simulation that Fig. 12 and 13 look at. 2 ranks: as many as cores."""
    arguments = ["--bodies", options.choose(20000, 2000), "--max-bodies", options.choose(120, 10)]
    return apps.Study("barnes_hut", arguments, Place("openmpi", 2, "tcp"), "user-defined")


def run(options: Options) -> Report:
    """All sides take turns; forces have to be the same, bit for bit."""
    grid = options.choose(apps.Grid(["256KiB", "1MiB", "4MiB"], [1000, 20000]), apps.Grid(["1MiB"], [1000]))
    samples = options.samples(SAMPLES)
    bodies = study(options)
    report = bodies.report()
    report.parameters.update(
        {"buffer_bytes": grid.buffers, "index_entries": grid.entries, "samples": samples}
    )
    calls = {("plain", "", 0): bodies.call()}
    for size in grid.buffers:
        calls["native", size, 0] = bodies.call(more=["--cache", "block", "--cache-bytes", size])
    read_ahead = {READ_AHEAD: {"adaptive": "off", "read_only_phases": "on"}}
    for key, side in grid.sides(bodies.mode, read_ahead).items():
        calls[key] = bodies.call(side)
    report.rows, _ = apps.compare(calls, "force_seconds_per_body", "checksum", samples, options, "barnes_hut")
    report.columns = "strategy buffer_bytes index_entries seconds speed_up hits resizes"
    report.pictures = apps.times(report.rows)
    _compare(report, "1MiB", grid.entries[-1])
    return report


def _compare(report: Report, size: str, entries: int) -> None:
    """Adds the claims and findings: in one buffer, with the largest index; against as-001 with any sizes."""
    rows = {(row["strategy"], row["buffer_bytes"], row["index_entries"]): row for row in report.rows}
    plain, native = rows["plain", "", ""], rows["native", size, ""]
    adaptive = rows["adaptive", size, entries]
    where = f"adaptive, |S_w| = {size}, |I_w| = {entries}"
    report.claims = [
        Claim.at_least(f"{where}: faster than plain", 3, Interval.in_row(adaptive, "speed_up"), "times"),
        Claim.at_least(
            f"{where}: faster than the program's own cache",
            *(1, Interval.of_ratios(native["each_seconds"], adaptive["each_seconds"]), "times"),
        ),
        *apps.as_001_claims("Barnes-Hut: time", report.rows, lambda row: row["each_seconds"], apps.sizes),
    ]
    for name, row in ((where, adaptive), (READ_AHEAD, rows[READ_AHEAD, size, entries])):
        report.findings.append(
            finding(f"force time of a body, {name}", plain, row, "seconds", "s", "speed_up")
        )
