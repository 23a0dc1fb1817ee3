# SPDX-License-Identifier: Apache-2.0
"""What a window takes whose group has up to a million ranks, of which a program accesses a hundred.

A window knows nothing of a target before its first access. Its parts are driven directly, over a network
that does nothing: what MPI itself keeps of its ranks is not in it, nor is what ranks tell one another when
they make a window. Beside it stands the same with a hundred ranks, all of which are accessed.

Whole windows of up to 1,024 ranks are made in SimGrid's SMPI, with nearfetch and without, on a model of a
Cray XC. Eight of the ranks read a hundred others.
"""

from __future__ import annotations

import json
from functools import partial

from bench import harness
from bench.harness import PLAIN, Options, Place, Side, alternate
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row
from nearfetch.mpiexec import SIMULATED

TITLE = "A window of a million ranks"

SAMPLES = 21
RANKS = (100, 1_000, 10_000, 100_000, 1_000_000)
ACCESSED = 100
MOST_BYTES = 1 << 20
MOST_MS = 1
SIMULATED_RANKS = (128, 1024)
SIDES = {"plain": PLAIN, "nearfetch": Side("acquire", {"buffer_bytes": 1 << 16, "index_entries": 1024})}


def run(options: Options) -> Report:
    """Numbers of ranks take turns."""
    samples = options.samples(SAMPLES)
    calls = {(ranks,): partial(_measure, ranks) for ranks in RANKS}
    report = Report({"samples": samples, "accessed": ACCESSED})
    for (ranks,), results in alternate(calls, samples, options, "many_ranks").items():
        row: Row = {"ranks": ranks, "window": "parts", "accessed": ACCESSED, "bytes": results[0]["bytes"]}
        for name in ("create", "access", "again"):
            row.update(Interval.of([result[f"{name}_ns"] / 1000 for result in results]).columns(f"{name}_us"))
        both = [(result["create_ns"] + result["access_ns"]) / 1e6 for result in results]
        row.update(Interval.of(both).columns("ms"))
        report.rows.append(row)
    first, last = report.rows[0], report.rows[-1]
    report.rows += _simulated(options)
    report.columns = "ranks window bytes create_us access_us again_us ms"
    more = int(last["bytes"]) - int(first["bytes"])
    report.claims = [
        Claim.at_most(
            "bytes more than with a hundred", MOST_BYTES, Interval.of([more]), "bytes", "1,000,000 ranks"
        ),
        Claim.at_most(
            "creation and first accesses", MOST_MS, Interval.in_row(last, "ms"), "ms", "1,000,000 ranks"
        ),
    ]
    parts = [row for row in report.rows if row["window"] == "parts"]
    report.pictures = [Lines(parts, "bytes", "ranks", "accessed", log="x")]
    return report


def _measure(ranks: int) -> Row:
    words = [str(harness.own_program("many_ranks")), "--ranks", str(ranks), "--accessed", str(ACCESSED)]
    return json.loads(harness.execute(words))


def _simulated(options: Options) -> list[Row]:
    """Bytes that a reading rank's process has allocated, and simulated time of the slowest rank."""
    rows: list[Row] = []
    for ranks in options.choose(SIMULATED_RANKS, SIMULATED_RANKS[:1]):
        for window, side in SIDES.items():
            place = Place(SIMULATED, ranks, "aries")
            (found,) = harness.run("window_of_ranks", [], place, side, timeout_s=900).json_lines()
            rows.append(
                {
                    "ranks": ranks,
                    "window": f"SMPI, {window}",
                    "accessed": ACCESSED,
                    "bytes": found["create_bytes"] + found["access_bytes"],
                    "create_us": found["create_s"] * 1e6,
                    "access_us": found["access_s"] * 1e6,
                }
            )
    return rows
