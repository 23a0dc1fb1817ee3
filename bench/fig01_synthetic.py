# SPDX-License-Identifier: Apache-2.0
"""Paper 000, Fig. 1: copy, rand-gets and rand-puts, with and without the page cache."""

from __future__ import annotations

from pathlib import Path

from bench import pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread

TITLE = "Copy, random gets and random puts, with and without the page cache (000, Fig. 1)"

PROGRAMS = ("copy", "rand_gets", "rand_puts")
COPY = {"aries": 50, "fdr-ib": 100, "10gbe": 400, "1gbe": 400}
"""How many times faster copy has to be."""
GETS_SLOWER_PERCENT = {"1gbe": 3, "aries": 5}
"""How much slower random gets may be, on the slowest and on the fastest network."""
PUTS = 3
"""How many times faster random puts have to be."""


def run(options: Options) -> Report:
    """Every program on every network; both sides take turns."""
    rounds = options.rounds_or(7, 1)
    report = Report({"rounds": rounds}, columns=pgas.COLUMNS)
    accesses = options.choose([], ["--accesses", 2000, "--elements", 100_000])
    for stage in pgas.stages(options):
        for program in PROGRAMS:
            # A real network takes its real time.
            few = options.choose(["--accesses", 5000], accesses) if stage.time == "mpi" else accesses
            arguments = [] if program == "copy" else few
            report.rows += pgas.compare(program, arguments, stage, rounds, options)
    report.claims = [*_copy(report.rows), *_gets(report.rows), *_puts(report.rows)]
    return report


def _copy(rows: list[Row]) -> list[Claim]:
    cached = pgas.find(rows, program="copy", side="cached")
    claims = [pgas.speed_up_claim(row, COPY[network]) for network, row in pgas.modelled(cached)]
    for kind in ("get", "put"):
        most = max(cached, key=lambda row: row[f"{kind}_messages"])
        text = f"copy of 10,000 elements: {kind.upper()} messages"
        claims.append(Claim.at_most(text, 40, most[f"{kind}_messages"], "", most["network"]))
    for row in cached:
        if row["time"] == "virtual":
            ratio = row["waited_seconds"] / row["bound_seconds"]
            detail = f"{row['waited_seconds']:.4g} s"
            text = f"copy on {row['network']}: waits, over the network's bound"
            claims.append(Claim.at_most(text, 2, ratio, "", detail))
    return claims


def _gets(rows: list[Row]) -> list[Claim]:
    claims = []
    for network, row in pgas.modelled(pgas.find(rows, program="rand_gets", side="cached")):
        if network not in GETS_SLOWER_PERCENT:
            continue
        spread = Spread.in_row(row, "speed_up")
        detail = f"quartiles {1 / spread.high - 1:.1%} to {1 / spread.low - 1:.1%}"
        slower = 100 * (1 / spread.median - 1)
        text = f"rand_gets on {row['network']}: slower by"
        claims.append(Claim.at_most(text, GETS_SLOWER_PERCENT[network], slower, "%", detail))
    return claims


def _puts(rows: list[Row]) -> list[Claim]:
    claims = []
    for _, row in pgas.modelled(pgas.find(rows, program="rand_puts", side="cached")):
        claims.append(pgas.speed_up_claim(row, PUTS))
        if row["time"] == "virtual":
            # What the network can do at most decides whether that is to be had.
            text = f"rand_puts on {row['network']}: over the network's bound"
            claims.append(Claim.at_most(text, 1.05, row["seconds"] / row["bound_seconds"]))
    return claims


def plot(report: Report, path: Path) -> None:
    """One panel per program: how many times faster on each network."""
    figure, axes = plots.panels(len(PROGRAMS), width=4.6)
    for axis, program in zip(axes, PROGRAMS):
        rows = pgas.find(report.rows, program=program, side="cached")
        spreads = [Spread.in_row(row, "speed_up") for row in rows]
        heights = [spread.median for spread in spreads]
        errors = [
            [spread.median - spread.low for spread in spreads],
            [spread.high - spread.median for spread in spreads],
        ]
        bars = axis.bar([row["network"] for row in rows], heights, yerr=errors, color=plots.COLORS["direct"])
        axis.bar_label(bars, fmt="%.3g", fontsize=7)
        axis.axhline(1, color="black", linewidth=0.8)
        if max(heights) > 20:
            axis.set_yscale("log")
        axis.set_title(program)
        axis.tick_params(axis="x", rotation=70)
    axes[0].set_ylabel("times faster with the cache")
    plots.save(figure, path, TITLE)
