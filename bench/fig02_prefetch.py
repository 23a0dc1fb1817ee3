# SPDX-License-Identifier: Apache-2.0
"""Reading computed places with prefetch hints, over the prefetch distance in iterations (000, Fig. 2).

Each distance is fixed by hand, and one is found as the loop runs. In some rows an iteration computes for
longer than a message keeps the network busy. 2 ranks, on modelled networks in virtual time and on the
wall's clock, and MPI over TCP.
"""

from __future__ import annotations

from typing import Sequence

from bench import pgas
from bench.harness import Options
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, calibrated

TITLE = "Prefetching computed places, over the distance in iterations (000, Fig. 2)"

SAMPLES = 7

AUTO = "auto"
COMPUTE_NS = {"aries": 1000, "fdr-ib": 700, "10gbe": 6000, "1gbe": 20_000}
"""An iteration that computes for longer than a message keeps the network busy: the distance decides."""


def run(options: Options) -> Report:
    """Every distance on every network, plain and in iterations that compute; the distances take turns."""
    samples = options.samples(SAMPLES)
    distances = options.choose([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32], [0, 4])
    report = Report({"samples": samples, "distances": distances, "compute_ns": COMPUTE_NS})
    report.columns = "network compute_ns side seconds speed_up bound_seconds get_messages"
    accesses = options.choose([], ["--accesses", 2000, "--elements", 100_000])
    for stage in pgas.stages(options):
        # A real network takes its real time: fewer distances, and fewer accesses.
        is_mpi = stage.time == "mpi"
        chosen = [k for k in distances if k in (0, 2, 4, 8, 16, 32)] if is_mpi else distances
        sides: dict[str, Sequence[object]] = {str(k): ("--distance", k) for k in [*chosen, AUTO]}
        sides["uncached"] = ("--distance", 0, "--no-cache")
        few = options.choose(["--accesses", 3000], accesses) if is_mpi else accesses
        for compute_ns in [0, COMPUTE_NS[stage.network]] if stage.time == "virtual" else [0]:
            arguments = [*few, "--compute-ns", compute_ns]
            rows = pgas.compare("prefetch", arguments, stage, samples, options, sides=sides, base="0")
            report.rows += [{**row, "compute_ns": compute_ns} for row in rows]
    alone: dict[str, Sequence[object]] = {AUTO: ("--distance", AUTO)}
    for row in pgas.compare("prefetch", accesses, pgas.ALONE, samples, options, sides=alone, base=AUTO):
        report.rows.append({**row, "compute_ns": 0})
    shown = [
        {
            **row,
            "iterations": int(row["side"]) if row["side"].isdecimal() else "",
            "distance": "fixed" if row["side"].isdecimal() else row["side"],
        }
        for row in report.rows
        if row["time"] != pgas.ALONE.time
    ]
    report.pictures = [Lines(shown, "seconds", "iterations", "distance", ["network", "compute_ns"])]
    alike = [row for row in pgas.find(report.rows, compute_ns=0) if row["side"] in ("0", AUTO)]
    modelled = [row for _, row in pgas.modelled(alike)]
    report.findings = calibrated(pgas.findings(modelled, base="0"))
    report.findings += pgas.findings(pgas.find(alike, time="mpi"), base="0")
    report.claims = _claims(report.rows)
    return report


def _claims(rows: list[Row]) -> list[Claim]:
    claims = []
    (alone,) = pgas.find(rows, time=pgas.ALONE.time)
    for network, found in pgas.modelled(pgas.find(rows, side=AUTO)):
        compute_ns = found["compute_ns"]
        chosen = pgas.find(rows, network=found["network"], compute_ns=compute_ns)
        fixed = [row for row in chosen if row["side"] not in (AUTO, "uncached")]
        best = min(fixed, key=lambda row: row["seconds"])
        where = f"prefetch on {found['network']}" + (f", {compute_ns} ns of computing" if compute_ns else "")
        ratio = Interval.of_ratios(found["each_seconds"], best["each_seconds"])
        detail = f"best is {best['side']}"
        claims.append(Claim.at_most(f"{where}: found over best distance", 1.05, ratio, "", detail))
        if compute_ns == 0:
            bound = found["bound_seconds"]
            detail = f"without a network the loop takes {alone['seconds'] / bound:.3g} of that"
            claims.append(
                Claim.at_most(
                    f"{where}: found over the network's message rate",
                    1.10,
                    Interval.in_row(found, "seconds").times(1 / bound),
                    "",
                    detail if found["time"] == "wall" else "",
                )
            )
            if network == "fdr-ib":
                text = f"{where}: over not prefetching"
                speed_up = Interval.in_row(found, "speed_up")
                claims += calibrated([Claim.at_least(text, 4, speed_up, "times faster")])
    return claims
