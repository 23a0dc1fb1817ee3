# SPDX-License-Identifier: Apache-2.0
"""Paper 000, Fig. 2: reading computed places with prefetch hints, over their distance, and with one found."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from bench import pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread

TITLE = "Prefetching computed places, over the distance in iterations (000, Fig. 2)"

AUTO = "auto"
COMPUTE_NS = {"aries": 1000, "fdr-ib": 700, "10gbe": 6000, "1gbe": 20_000}
"""An iteration that computes for longer than a message keeps the network busy: the distance decides."""


def run(options: Options) -> Report:
    """Every distance on every network, plain and in iterations that compute; the distances take turns."""
    rounds = options.rounds_or(5, 1)
    distances = options.choose([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32], [0, 4])
    report = Report({"rounds": rounds, "distances": distances, "compute_ns": COMPUTE_NS})
    report.columns = ("network", "compute_ns", "side", "seconds", "speed_up", "bound_seconds", "get_messages")
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
            rows = pgas.compare("prefetch", arguments, stage, rounds, options, sides=sides, base="0")
            report.rows += [{**row, "compute_ns": compute_ns} for row in rows]
    alone: dict[str, Sequence[object]] = {AUTO: ("--distance", AUTO)}
    for row in pgas.compare("prefetch", accesses, pgas.ALONE, rounds, options, sides=alone, base=AUTO):
        report.rows.append({**row, "compute_ns": 0})
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
        ratio = Spread.of_ratios(found["each_seconds"], best["each_seconds"])
        detail = f"best is {best['side']}; quartiles {ratio.low:.4g} to {ratio.high:.4g}"
        claims.append(Claim.at_most(f"{where}: found over best distance", 1.05, ratio.median, "", detail))
        if compute_ns == 0:
            bound = found["bound_seconds"]
            detail = f"without a network the loop takes {alone['seconds'] / bound:.3g} of that"
            claims.append(
                Claim.at_most(
                    f"{where}: found over the network's message rate",
                    1.10,
                    found["seconds"] / bound,
                    "",
                    detail if found["time"] == "wall" else "",
                )
            )
            if network == "fdr-ib":
                text = f"{where}: over not prefetching"
                claims.append(Claim.at_least(text, 4, found["speed_up"], "times faster"))
    return claims


def plot(report: Report, path: Path) -> None:
    """One panel per network: seconds over the distance, the found one as a line across."""
    on_networks = [row for row in report.rows if row["time"] != pgas.ALONE.time]
    keys = list(dict.fromkeys((row["network"], row["compute_ns"]) for row in on_networks))
    figure, axes = plots.panels(len(keys))
    for axis, (network, compute_ns) in zip(axes, keys):
        rows = pgas.find(report.rows, network=network, compute_ns=compute_ns)
        fixed = [row for row in rows if row["side"].isdecimal()]
        xs = [int(row["side"]) for row in fixed]
        plots.line(axis, xs, [Spread.in_row(row, "seconds") for row in fixed], "distance by hand")
        for side, style in ((AUTO, "-"), ("uncached", ":")):
            (row,) = pgas.find(rows, side=side)
            label = "distance found" if side == AUTO else "no cache"
            axis.axhline(row["seconds"], linestyle=style, color="black", linewidth=0.9, label=label)
        if rows[0]["bound_seconds"]:
            axis.axhline(rows[0]["bound_seconds"], linestyle="--", color="gray", linewidth=0.9, label="bound")
        axis.set_ylim(bottom=0)
        axis.set_title(network + (f", {compute_ns} ns of computing" if compute_ns else ""))
    axes[0].set_ylabel("s")
    axes[0].legend(fontsize=7)
    axes[-1].set_xlabel("distance, iterations")
    plots.save(figure, path, TITLE)
