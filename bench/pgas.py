# SPDX-License-Identifier: Apache-2.0
"""Runs of the SPMD programs of apps/pgas, with and without their cache, on modelled and real networks."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from functools import partial
from statistics import median
from typing import Callable, Mapping, NamedTuple, Sequence

from bench import harness
from bench.harness import BenchError, Options, Place, alternate, execute, on_core
from bench.report import Claim, Finding, Interval, Row, finding

NETWORKS = ("aries", "fdr-ib", "10gbe", "1gbe")
"""The modelled networks, fastest first."""

SIDES: Mapping[str, Sequence[str]] = {"cached": (), "uncached": ("--no-cache",)}


class Stage(NamedTuple):
    """Where a program runs: on a modelled network in virtual time or on the wall's clock, or on real MPI."""

    network: str
    time: str
    """`virtual`, `wall`, `mpi`, or `none` where there is no network."""
    family: str = ""

    def __str__(self) -> str:
        if self.time == "mpi":
            return f"{self.family} {self.network}"
        return self.network if self.time == "none" else f"{self.network} {self.time}"


ALONE = Stage("no network", "none")
"""What the program and the cache take by themselves, on the wall's clock."""


def stages(options: Options, wall: bool = True, mpi: bool = True) -> list[Stage]:
    """Those that a figure goes over: all networks in virtual time, on the wall's clock, and MPI over TCP."""
    chosen = [Stage(network, "virtual") for network in NETWORKS]
    if wall:
        chosen += [Stage(network, "wall") for network in options.choose(NETWORKS, ("fdr-ib",))]
    if mpi:
        families = harness.families()
        chosen += [Stage("tcp", "mpi", family) for family in options.choose(families, families[:1])]
    return chosen


def measure(name: str, arguments: Sequence[object], stage: Stage, ranks: int = 2, pinned: bool = True) -> Row:
    """Runs a program; its report, whose result is right. In virtual time on one core, if it is to be pinned.

    Raises BenchError where it is not.
    """
    if stage.time == "mpi":
        place = Place(stage.family, ranks, stage.network)
        lines = harness.run(name, arguments, place, timeout_s=600).json_lines()
    else:
        words = [str(harness.own_program(name, "programs/inproc")), "--ranks", str(ranks)]
        if stage.time != ALONE.time:
            words += ["--network", stage.network, *(["--virtual"] if stage.time == "virtual" else [])]
        words += map(str, arguments)
        core = min(os.sched_getaffinity(0))
        with on_core(core) if pinned and stage.time == "virtual" else nullcontext():
            output = execute(words, timeout_s=1200)
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if len(lines) != 1 or lines[0]["right"] != 1:
        raise BenchError(f"{name} on {stage} gave no right result (it checks itself): run it by itself")
    return lines[0]


def compare(
    name: str,
    arguments: Sequence[object],
    stage: Stage,
    samples: int,
    options: Options,
    ranks: int = 2,
    sides: Mapping[str, Sequence[object]] = SIDES,
    base: str = "uncached",
    same: str = "checksum",
) -> list[Row]:
    """A row for each side, run in turn; `speed_up` is over `base`. In virtual time one run says it all.
    `same` names the result that may not differ.

    Raises BenchError where the results differ.
    """
    calls: dict[str, Callable[[], Row]] = {
        side: partial(measure, name, [*arguments, *more], stage, ranks) for side, more in sides.items()
    }
    runs = alternate(calls, 1 if stage.time == "virtual" else samples, options, f"{name} {stage}")
    return rows_of(name, stage, ranks, runs, base, same)


def rows_of(
    name: str,
    stage: Stage,
    ranks: int,
    runs: Mapping[str, Sequence[Row]],
    base: str = "uncached",
    same: str = "checksum",
) -> list[Row]:
    """The rows of `compare`, of reports by side."""
    results = {run[same] for side in runs.values() for run in side}
    if len(results) != 1:
        raise BenchError(f"{name} on {stage} gave {len(results)} different results: {sorted(results)}")
    rows = []
    for side, reports in runs.items():
        seconds = [report["seconds"] for report in reports]
        row: Row = {"program": name, "network": str(stage), "time": stage.time, "ranks": ranks, "side": side}
        row.update(Interval.of(seconds).columns("seconds"))
        row["each_seconds"] = seconds
        row.update(Interval.of_ratios([r["seconds"] for r in runs[base]], seconds).columns("speed_up"))
        row["bound_seconds"] = reports[0].get("bound_seconds", "")
        row["waited_seconds"] = median(report["waited_ns"] * 1e-9 for report in reports)
        for counter in ("get_messages", "get_message_bytes", "put_messages", "put_message_bytes"):
            row[counter] = reports[0][counter]
        row["counters"] = {k: v for k, v in reports[0].items() if isinstance(v, int)}
        row["checksum"] = reports[0]["checksum"]
        rows.append(row)
    return rows


COLUMNS = "program network side seconds speed_up bound_seconds waited_seconds get_messages put_messages"
"""What is printed of the rows."""


def modelled(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """The rows of modelled networks, in virtual time and on the wall's clock, each after its network's."""
    return [(row["network"].split()[0], row) for row in rows if row["time"] in ("virtual", "wall")]


def find(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def speed_up_claim(row: Row, target: float) -> Claim:
    """That what the row measured is so many times faster than the base."""
    bound = f", of which the network bounds {row['bound_seconds']:.3g} s" if row["bound_seconds"] else ""
    return Claim.at_least(
        f"{row['program']} on {row['network']}, {row['side']}",
        target,
        Interval.in_row(row, "speed_up"),
        "times faster",
        "; ".join(filter(None, [f"{row['seconds']:.4g} s{bound}", row.get("bound", "")])),
    )


def read_bound(base: Row, row: Row, work_seconds: float, target: float) -> str:
    """What bounds the speed-up of `row` over `base` in virtual time: a loop's work, and the network's least.

    And what a hit of the base would have to take more, so that `row` were `target` times as fast.
    """
    best = base["seconds"] / (work_seconds + row["bound_seconds"])
    text = f"work and network's least alone: {best:.3g} times"
    missing_seconds = (target * row["seconds"] - base["seconds"]) * base["ranks"]
    if missing_seconds <= 0:
        return text
    hits = base["counters"]["hits"] + base["counters"]["pending_hits"]
    return f"{text}; {target:g} times if a hit of base took {missing_seconds * 1e9 / hits:.3g} ns more"


def findings(rows: Sequence[Row], base: str = "uncached") -> list[Finding]:
    """Each row beside the one of `base` at the same place, but that one itself."""
    bases = {(row["program"], row["network"], row["ranks"]): row for row in find(rows, side=base)}
    return [
        finding(
            f"{row['program']} on {row['network']}, {row['ranks']} ranks, {row['side']}",
            bases[row["program"], row["network"], row["ranks"]],
            row,
            "seconds",
            "s",
            "speed_up",
        )
        for row in rows
        if row["side"] != base
    ]


def networks_of(rows: Sequence[Row]) -> list[str]:
    """The networks of the rows, in their order."""
    return list(dict.fromkeys(row["network"] for row in rows))
