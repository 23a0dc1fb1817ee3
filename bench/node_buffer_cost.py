# SPDX-License-Identifier: Apache-2.0
"""What the node level's buffer costs: a range that is found, one that is not and is going to be fetched, and
one that is offered.

Each process asks for 512 ranges. Beside them a copy of as many bytes. 1, 2 and 8 processes use the buffer
at a time; 8 are more than this machine has processors, so that they also measure its scheduler.
"""

from __future__ import annotations

import json
from functools import partial

from bench import harness
from bench.harness import Options, alternate
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row

TITLE = "Node buffer: what a lookup and an offer cost"

SAMPLES = 9
SIZES = (8, 64, 1024, 4096)
PROCESSES = (1, 2, 8)
KINDS = ("hit", "miss", "offer", "copy")
SMALL_HIT_NS = 150
COPIES = 2
"""A hit of 4 KiB takes at most so many copies."""
MISS_NS = 100


def run(options: Options) -> Report:
    """Sizes and numbers of processes take turns."""
    samples = options.samples(SAMPLES)
    count = options.choose(300_000, 5_000)
    calls = {
        (size, processes, 0): partial(_measure, size, processes, count)
        for size in SIZES
        for processes in PROCESSES
    }
    report = Report({"samples": samples, "count": count})
    for (size, processes, _), results in alternate(calls, samples, options, "node_buffer_cost").items():
        row: Row = {"size": size, "processes": processes}
        for kind in KINDS:
            row.update(Interval.of([result[f"{kind}_ns"] for result in results]).columns(f"{kind}_ns"))
        ratios = [result["hit_ns"] / result["copy_ns"] for result in results]
        row.update(Interval.of(ratios).columns("copies"))
        report.rows.append(row)
    report.columns = "size processes hit_ns miss_ns offer_ns copy_ns copies"
    for row in report.rows:
        where = f"{row['processes']} processes"
        if row["size"] == SIZES[0]:
            hit, miss = Interval.in_row(row, "hit_ns"), Interval.in_row(row, "miss_ns")
            report.claims.append(Claim.at_most("8 bytes that are found", SMALL_HIT_NS, hit, "ns", where))
            report.claims.append(Claim.at_most("8 bytes that are not found", MISS_NS, miss, "ns", where))
        if row["size"] == SIZES[-1]:
            copies = Interval.in_row(row, "copies")
            report.claims.append(
                Claim.at_most("4 KiB that are found, over a copy", COPIES, copies, "times", where)
            )
    report.pictures = [Bars(report.rows, "hit_ns", ["size"], ["processes"])]
    return report


def _measure(size: int, processes: int, count: int) -> Row:
    words = [str(harness.own_program("node_buffer_cost")), "--size", str(size), "--count", str(count)]
    result = json.loads(harness.execute([*words, "--processes", str(processes)]))
    if result["missed"] != count or result["found"] < count * 0.9:
        raise harness.BenchError(f"{result['found']} of {count} ranges were found (nearly all have to be)")
    return result
