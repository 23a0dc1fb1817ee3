# SPDX-License-Identifier: Apache-2.0
"""Barnes-Hut on 16 ranks and LCC on 32, over the size of buffer and index (001, Fig. 12, 13, 15 and 16).

The ranks are SimGrid's, one on a node of a Cray XC like Piz Daint (docs/smpi.md). Times are virtual and
exact. The tree is of 20,000 bodies, and the graph an R-MAT one of 2^20 vertices and 2^24 edges, as in the
paper. Forces are computed on the first 8 bodies of each rank, so the cache is colder than in the paper.
Vertices are numbered at random. Rank 0 computes the coefficients of all its vertices, and the others serve.
`infinite cache` is the plain program's time without the gets that a rank repeats, as if hits took no time. A
hit is charged its copy: 8 B take 1 ns. With LCC's large lists the copies are most of what is left. `ideal
cache` has them, and gets again what is slower to copy. Times and access types are of the same run.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

from bench import apps, scaling
from bench.harness import Options, Place
from bench.plots import Stacks
from bench.report import Claim, Interval, Report, Row
from nearfetch.mpiexec import SIMULATED

TITLE = "Barnes-Hut on 16 ranks and LCC on 32, in virtual time (001, Fig. 12, 13, 15 and 16)"

PLATFORM = "aries"


class Case(NamedTuple):
    """An application, with the time that is compared and the result that must not differ."""

    what: str
    study: apps.Study
    value: str
    same: str
    grid: apps.Grid
    first_gets: scaling.FirstGets
    native: Sequence[object] = ()
    """Arguments before the size of the application's own cache, if it has one."""


def cases(options: Options) -> list[Case]:
    """Both applications."""
    ranks, bodies, computed = options.choose((16, 20_000, 8), (4, 500, 4))
    barnes_hut = Case(
        "Barnes-Hut",
        apps.Study(
            *("barnes_hut", ["--bodies", bodies, "--max-bodies", computed]),
            *(Place(SIMULATED, ranks, PLATFORM), "user-defined"),
        ),
        *("force_seconds_per_body", "checksum"),
        options.choose(apps.Grid(["1MiB", "4MiB"], [1000, 20_000]), apps.Grid(["1MiB"], [1000])),
        scaling.BARNES_HUT_FIRST_GETS,
        ["--cache", "block", "--cache-bytes"],
    )
    ranks, scale = options.choose((32, 20), (4, 10))
    words = ["--rmat-scale", scale, "--edge-factor", 16, "--seed", 1, "--shuffle", "--max-ranks", 1]
    lcc = Case(
        "LCC",
        apps.Study("lcc", words, Place(SIMULATED, ranks, PLATFORM), "always-cache"),
        *("communication_seconds", "average"),
        options.choose(apps.Grid(["64MiB", "128MiB"], [32_768, 262_144]), apps.Grid(["64MiB"], [32_768])),
        scaling.LCC_FIRST_GETS,
    )
    return [barnes_hut, lcc]


def run(options: Options) -> Report:
    """One run of each side: what is simulated is exact."""
    report = Report({"platform": PLATFORM})
    for case in cases(options):
        report.parameters[case.what] = [case.study.program, *case.study.arguments, str(case.study.place)]
        plain = ("plain", "", 0)
        calls: dict[apps.Key, apps.Call] = {plain: case.study.call(more=case.first_gets.arguments)}
        if case.native:
            for size in case.grid.buffers:
                calls["native", size, 0] = case.study.call(more=[*case.native, size])
        calls.update({key: case.study.call(side) for key, side in case.grid.sides(case.study.mode).items()})
        rows, results = apps.compare(calls, case.value, case.same, 1, options, case.what)
        (measured,) = results[plain]
        unlimited = [{**rows[0], **row} for row in case.first_gets.rows(measured.report)]
        for row in unlimited:
            row["speed_up"] = round(rows[0]["seconds"] / row["seconds"], 4)
        rows[1:1] = unlimited
        report.rows += rows
        report.claims += _claims(rows, case)
    report.columns = (
        "what strategy buffer_bytes index_entries seconds speed_up hits conflicting capacity resizes"
    )
    counted = [row for row in report.rows if "hits" in row]
    report.pictures = [
        *apps.times(report.rows, "what"),
        Stacks(counted, "index_entries", ["what", "buffer_bytes", "strategy"]),
    ]
    return report


def _claims(rows: Sequence[Row], case: Case) -> list[Claim]:
    """Ours against the paper's own algorithm with any sizes, and plain with the largest."""
    (infinite,) = (row for row in rows if row["strategy"] == scaling.INFINITE)
    ours = [row for row in rows if row["strategy"] == scaling.OURS]
    most = max(ours, key=lambda row: row["conflicting"])
    detail = f"{apps.sizes(ours[-1])}; {scaling.bound(infinite)}"
    conflicts = 100 * most["conflicting"]
    return [
        *apps.as_001_claims(f"{case.what}: time", rows, lambda row: row["each_seconds"], apps.sizes),
        Claim.at_least(
            f"{case.what}: plain time over ours",
            *(5, Interval.exactly(ours[-1]["speed_up"]), "times", detail),
        ),
        Claim.at_most(f"{case.what}: conflicting misses", 10, conflicts, "% of the gets", apps.sizes(most)),
    ]
