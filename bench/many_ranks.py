# SPDX-License-Identifier: Apache-2.0
"""What a window takes whose group has up to a million ranks, of which a program accesses a hundred.

A window knows nothing of a target before its first access. Its parts are driven directly, over a network
that does nothing: what MPI itself keeps of its ranks is not in it, nor is what ranks tell one another when
they make a window. Beside it stands the same with a hundred ranks, all of which are accessed.
"""

from __future__ import annotations

import json
from functools import partial

from bench import harness
from bench.harness import Options, alternate
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row

TITLE = "A window of a million ranks"

SAMPLES = 21
RANKS = (100, 1_000, 10_000, 100_000, 1_000_000)
ACCESSED = 100
MOST_BYTES = 1 << 20
MOST_MS = 1


def run(options: Options) -> Report:
    """Numbers of ranks take turns."""
    samples = options.samples(SAMPLES)
    calls = {(ranks,): partial(_measure, ranks) for ranks in RANKS}
    report = Report({"samples": samples, "accessed": ACCESSED})
    for (ranks,), results in alternate(calls, samples, options, "many_ranks").items():
        row: Row = {"ranks": ranks, "accessed": ACCESSED, "bytes": results[0]["bytes"]}
        for name in ("create", "access", "again"):
            row.update(Interval.of([result[f"{name}_ns"] / 1000 for result in results]).columns(f"{name}_us"))
        both = [(result["create_ns"] + result["access_ns"]) / 1e6 for result in results]
        row.update(Interval.of(both).columns("ms"))
        report.rows.append(row)
    report.columns = "ranks bytes create_us access_us again_us ms"
    first, last = report.rows[0], report.rows[-1]
    more = int(last["bytes"]) - int(first["bytes"])
    report.claims = [
        Claim.at_most(
            "bytes more than with a hundred", MOST_BYTES, Interval.of([more]), "bytes", "1,000,000 ranks"
        ),
        Claim.at_most(
            "creation and first accesses", MOST_MS, Interval.in_row(last, "ms"), "ms", "1,000,000 ranks"
        ),
    ]
    report.pictures = [Lines(report.rows, "bytes", "ranks", "accessed", log="x")]
    return report


def _measure(ranks: int) -> Row:
    words = [str(harness.own_program("many_ranks")), "--ranks", str(ranks), "--accessed", str(ACCESSED)]
    return json.loads(harness.execute(words))
