# SPDX-License-Identifier: Apache-2.0
"""Sync variables, `on` and tasks, each of which is a fence, with and without the page cache (000, III-D).

A hundred blocks of 256 elements pass from thread to thread, and are read element by element: behind a sync
variable, by a function of `on` at the reader, or by four tasks a block. So the cache is emptied for each
block, or begins empty. 4 ranks on modelled networks in virtual time, 2 on MPI over TCP. Open MPI has the
sync variables alone, because there one thread communicates.
"""

from __future__ import annotations

from bench import pgas
from bench.harness import Options
from bench.plots import Bars
from bench.report import Report

TITLE = "Sync variables, on and tasks (000, section III-D)"

SAMPLES = 7
LEAST = 2
"""How many times faster the cache has to make each: the paper's conclusion for most of its programs."""


def run(options: Options) -> Report:
    """Each way on every network; both sides take turns."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples}, columns=pgas.COLUMNS)
    blocks = options.choose(100, 10)
    for stage in pgas.stages(options, wall=False):
        for way in ("sync", "on", "tasks") if stage.family != "openmpi" else ("sync",):
            ranks = 2 if stage.time == "mpi" else 4
            words = ["--by", way, "--blocks", blocks]
            rows = pgas.compare("hand_over", words, stage, samples, options, ranks)
            report.rows += [{**row, "program": f"hand_over, {way}"} for row in rows]
    report.findings = pgas.findings(report.rows)
    cached = pgas.find(report.rows, side="cached")
    report.claims = [pgas.speed_up_claim(row, LEAST) for row in cached]
    report.pictures = [Bars(cached, "speed_up", ["network"], ["program"], log="x")]
    return report
