# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 7 and section 6.2.4: what reading and writing an element costs, by where it is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from statistics import median
from typing import Optional

from bench import harness, pgas, plots
from bench.callgrind import instructions_each
from bench.harness import Claim, Options, Report, Row, Spread, alternate

TITLE = "Reading and writing an element: own, prefetched, remote (004, Fig. 7 and section 6.2.4)"

KINDS = (
    "local array",
    "own, view",
    "own",
    "remote",
    "remote, checked",
    "prefetched, ac",
    "prefetched, mc",
    "prefetched, learned",
    "write",
    "write, checked",
    "write, ac",
    "write, mc",
)
"""Where it is. Remote ones are in the page cache; `checked`: while the same array has something else
prefetched. `learned`: each other element was seen to be read, and is prefetched with manual consistency.
Writes are all remote, `ac` and `mc` to what is prefetched: it is written there, too."""


def run(options: Options) -> Report:
    """All kinds take turns within one process, for each stride; the medians of each process are compared.

    There are several, for where the memory of one lies makes 4 % between kinds that execute the same
    instructions.
    """
    strides = options.choose([1, 2, 4, 8, 16, 32, 64], [1, 64])
    processes = options.rounds_or(15, 1)
    rounds, count = options.choose((7, 300_000), (1, 20_000))
    report = Report({"processes": processes, "rounds": rounds, "count": count})
    calls = {f"stride {stride}": partial(_measure, stride, count, rounds) for stride in strides}
    every = alternate(calls, processes, options, "array_access_cost").values()
    for stride, runs in zip(strides, every):
        times = {kind: [median(run[kind]) for run in runs] for kind in KINDS}
        for kind in KINDS:
            row: Row = {"stride": stride, "kind": kind, **Spread.of(times[kind]).columns("ns")}
            row.update(Spread.of_ratios(times[kind], times["own"]).columns("over_own"))
            remote = "write" if kind.startswith("write") else "remote"
            row.update(Spread.of_ratios(times[kind], times[remote]).columns("over_remote"))
            report.rows.append(row)
    instructions = {kind: _instructions(kind) for kind in KINDS} if not options.quick else {}
    for row in report.rows:
        row["instructions"] = instructions.get(row["kind"])
    report.columns = ("stride", "kind", "ns", "ns_q1", "ns_q3", "over_own", "over_remote", "instructions")
    for kind, column, most in (
        ("prefetched, mc", "over_own", 1.3),
        ("prefetched, ac", "over_own", 1.3),
        ("remote, checked", "over_remote", 1.01),
        # The paper's worst; of its mean, 1.2 %, it says that it fluctuates.
        *((kind, "over_remote", 1.0941) for kind in ("write, checked", "write, ac", "write, mc")),
    ):
        worst = max(pgas.find(report.rows, kind=kind), key=lambda row: row[column])
        text = f"{kind}, {column.replace('_', ' ')}"
        report.claims.append(Claim.at_most(text, most, worst[column], "times", f"stride {worst['stride']}"))
    if instructions.get("remote, checked"):
        checked, remote = instructions["remote, checked"], instructions["remote"]
        text = "remote, checked, over remote, instructions"
        detail = f"{checked:.5g} and {remote:.5g}, stride 1"
        report.claims.append(Claim.at_most(text, 1.01, checked / remote, "times", detail))
    return report


def _instructions(kind: str) -> Optional[float]:
    """Of an access with stride 1, 8 of them the loop's; a number that is the same in every run."""
    program = str(harness.core_program("array_access_cost"))
    words = [program, "--rounds", "1", "--only", kind]
    return instructions_each(lambda count: [*words, "--count", str(count)], 100_000, 200_000)


def _measure(stride: int, count: int, rounds: int) -> Row:
    words = [harness.core_program("array_access_cost"), "--stride", stride, "--count", count]
    output = harness.execute([*map(str, words), "--rounds", str(rounds)])
    return next(json.loads(line) for line in output.splitlines() if line.startswith("{"))


def plot(report: Report, path: Path) -> None:
    """The time of each kind over the stride."""
    figure, (axis,) = plots.panels(1, width=6)
    for kind in KINDS:
        rows = pgas.find(report.rows, kind=kind)
        plots.line(axis, [row["stride"] for row in rows], [Spread.in_row(row, "ns") for row in rows], kind)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("stride, elements of 8 bytes")
    axis.set_ylabel("ns")
    axis.legend(fontsize=7)
    plots.save(figure, path, TITLE)
