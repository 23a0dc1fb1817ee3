# SPDX-License-Identifier: Apache-2.0
"""Fig. 15: LCC communication time over |S_w| and |I_w|; and the real graph, as users get it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import apps
from bench.harness import CACHED, GRAPH, Claim, Options, Place, Report, families

TITLE = "LCC: communication time over |S_w| and |I_w| (Fig. 15)"

PLACE = Place("openmpi", 4, "tcp")


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
    rounds = options.rounds_or(3, 1)
    rmat = study(options)
    report = rmat.report()
    report.parameters.update({"buffer_bytes": grid.buffers, "index_entries": grid.entries, "rounds": rounds})
    calls = {("plain", "", 0): rmat.call()}
    exact = {"no read-ahead": {"read_ahead_bytes": 0}}
    for key, side in grid.sides(rmat.mode, exact).items():
        calls[key] = rmat.call(side)
    report.rows, _ = apps.compare(calls, "communication_seconds", "average", rounds, options, "R-MAT")
    _real_graph(report, options)
    report.columns = (
        "what",
        "strategy",
        "buffer_bytes",
        "index_entries",
        "seconds",
        "speed_up",
        "hits",
        "resizes",
    )
    return report


def _real_graph(report: Report, options: Options) -> None:
    """Adds plain against the defaults on the real graph, and the claims; also another MPI library."""
    rounds = options.rounds_or(5, 1)
    bound = ["--max-vertices", 300] if options.quick else []
    rows, results = _defaults(PLACE, bound, rounds, options)
    report.rows += rows
    if "mpich" in families():
        # Its ranks poll: more of them than there are cores would measure the scheduler.
        few = ["--max-vertices", options.choose(2000, 50)]
        report.rows += _defaults(Place("mpich", 2, "tcp"), few, rounds, options)[0]
    run = results["nearfetch", "", 0][-1]
    infinite = 1 - run.report["remote_vertices_per_rank"][0] / run.report["remote_gets_per_rank"][0]
    hits = run.outcome.shares(0)["hits"]
    whole = "the whole real graph" if not bound else f"{bound[1]} vertices of each rank of the real graph"
    report.parameters["real_graph"] = {
        "file": GRAPH.name,
        "bound": bound,
        "infinite_hits": round(infinite, 4),
    }
    speed_up = rows[1]["speed_up"]
    spread = (
        f"{whole}, {PLACE.ranks} ranks; quartiles {rows[1]['speed_up_q1']:g} to {rows[1]['speed_up_q3']:g}"
    )
    report.claims = [
        Claim.at_least(
            "LCC over TCP: plain communication time over nearfetch's", 5, speed_up, "times", spread
        ),
        Claim.at_least(
            f"LCC: hits of rank 0, over those of an infinite cache of exact ranges ({100 * infinite:.1f} %)",
            95,
            100 * hits / infinite,
            "%",
            f"{100 * hits:.1f} % of the gets hit; {whole}",
        ),
    ]


def _defaults(place: Place, bound: list[object], rounds: int, options: Options) -> tuple[list, dict]:
    measure = partial(apps.measure, "lcc", [GRAPH, *bound], place)
    calls = {("plain", "", 0): measure, ("nearfetch", "", 0): partial(measure, CACHED)}
    label = f"real graph, {place}, {place.ranks} ranks"
    return apps.compare(calls, "communication_seconds", "average", rounds, options, label)


def plot(report: Report, path: Path) -> None:
    """One panel per |I_w|; the R-MAT graph."""
    rows = [row for row in report.rows if row["what"] == "R-MAT"]
    apps.plot_times(rows, "communication time, s", path, TITLE)
