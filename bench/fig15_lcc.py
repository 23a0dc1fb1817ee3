# SPDX-License-Identifier: Apache-2.0
"""Local clustering coefficients: communication time over the size of buffer and index (001, Fig. 15).

The sizes vary on an R-MAT graph, of 2^14 vertices: the paper's 2^20 on 32 processes do not fit this
machine. Averages have to be the same, bit for bit. The real graph is that of the GitHub developers'
network, with default settings and all vertices, on 2 ranks, as many as cores.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import apps
from bench.harness import CACHED, GRAPH, Options, Place, families
from bench.report import Claim, Interval, Report, finding

TITLE = "LCC: communication time over the size of buffer and index (001, Fig. 15)"

PLACE = Place("openmpi", 2, "tcp")
SAMPLES = 7


def study(options: Options) -> apps.Study:
    """The R-MAT graph that Fig. 15 and 16 look at; its first vertices are its largest."""
    scale, vertices = options.choose((14, 100), (11, 20))
    arguments = ["--rmat-scale", scale, "--edge-factor", 16, "--seed", 1, "--max-vertices", vertices]
    return apps.Study("lcc", arguments, PLACE, "always-cache")


def run(options: Options) -> Report:
    """All sides take turns; averages have to be the same, bit for bit."""
    grid = options.choose(
        apps.Grid(["256KiB", "512KiB", "2MiB"], [1000, 4000, 16000]), apps.Grid(["512KiB"], [4000])
    )
    samples = options.samples(SAMPLES)
    rmat = study(options)
    report = rmat.report()
    report.parameters.update(
        {"buffer_bytes": grid.buffers, "index_entries": grid.entries, "samples": samples}
    )
    calls = {("plain", "", 0): rmat.call()}
    exact = {"no read-ahead": {"adaptive": "off", "read_ahead_bytes": 0}}
    for key, side in grid.sides(rmat.mode, exact).items():
        calls[key] = rmat.call(side)
    report.rows, _ = apps.compare(calls, "communication_seconds", "average", samples, options, "R-MAT")
    report.pictures = apps.times(report.rows)
    report.claims += apps.as_001_claims(
        "R-MAT: time", report.rows, lambda row: row["each_seconds"], apps.sizes
    )
    for family in families():
        _real_graph(report, Place(family, 2, "tcp"), options)
    report.columns = "what strategy buffer_bytes index_entries seconds speed_up hits resizes"
    return report


def _real_graph(report: Report, place: Place, options: Options) -> None:
    """Adds plain against the defaults on the real graph."""
    few: list[Any] = ["--max-vertices", 50] if options.quick else []
    measure = partial(apps.measure, "lcc", [GRAPH, *few], place)
    calls = {("plain", "", 0): measure, ("nearfetch", "", 0): partial(measure, CACHED)}
    label = f"LCC of the GitHub network, {place}, {place.ranks} ranks"
    rows, results = apps.compare(
        calls, "communication_seconds", "average", options.samples(SAMPLES), options, label
    )
    report.rows += rows
    report.findings.append(finding(f"{label}: communication", *rows, "seconds", "s", "speed_up"))
    run = results["nearfetch", "", 0][-1]
    infinite = 1 - run.report["remote_vertices_per_rank"][0] / run.report["remote_gets_per_rank"][0]
    hits = run.outcome.shares(0)["hits"]
    report.claims += [
        Claim.at_least(
            f"{label}: plain communication time over nearfetch's",
            5,
            Interval.in_row(rows[1], "speed_up"),
            "times",
        ),
        Claim.at_least(
            f"{label}: hits of rank 0, over those of an infinite cache of exact ranges",
            95,
            100 * hits / infinite,
            "%",
            f"{100 * hits:.1f} % and {100 * infinite:.1f} % of the gets",
        ),
    ]
