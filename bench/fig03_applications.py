# SPDX-License-Identifier: Apache-2.0
"""Paper 000, Fig. 3: PTRANS and SSCA2's kernel 4, with and without the page cache; PTRANS to 256 ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from bench import pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread
from bench.pgas import Stage

TITLE = "PTRANS and SSCA2 kernel 4, with and without the page cache (000, Fig. 3)"

RANKS = 8
SSCA2: Mapping[str, Sequence[object]] = {
    "uncached": ("--no-cache",),
    "cached": (),
    "cached, relaxed": ("--atomics", "relaxed"),
}
FASTER = {("ptrans", "cached"): 2, ("ssca2", "cached"): 1, ("ssca2", "cached, relaxed"): 1.05}
"""How many times faster they have to be, on every network, real ones included."""
OWN_ELEMENTS = 2500
"""Of each rank, where the number of ranks grows."""


def run(options: Options) -> Report:
    """Both programs on every network; the sides take turns. Weak scaling in virtual time."""
    rounds = options.rounds_or(5, 1)
    ranks = options.choose(RANKS, 4)
    rows = options.choose(500, 60)
    report = Report({"rounds": rounds, "own_elements": OWN_ELEMENTS}, columns=pgas.COLUMNS)
    sources = options.choose([], ["--sources", 4])
    for stage in pgas.stages(options, wall=False):
        where = 2 if stage.time == "mpi" else ranks
        few = ["--sources", 4] if stage.time == "mpi" else sources
        report.rows += pgas.compare("ptrans", ["--rows", rows], stage, rounds, options, where)
        report.rows += pgas.compare("ssca2", few, stage, rounds, options, where, SSCA2)
    counts = options.choose([1, 4, 16, 64, 256], [1, 4])
    weak: list[Row] = []
    for network in options.choose(("aries", "1gbe"), ("aries",)):
        for count in counts:
            arguments = ["--own-elements", options.choose(OWN_ELEMENTS, 100)]
            weak += pgas.compare("ptrans", arguments, Stage(network, "virtual"), 1, options, count)
    report.rows += [{**row, "program": "ptrans, weak"} for row in weak]
    report.claims = _claims(report.rows, counts[-1])
    return report


def _claims(rows: list[Row], most_ranks: int) -> list[Claim]:
    claims = [
        pgas.speed_up_claim(row, target)
        for (program, side), target in FASTER.items()
        for row in pgas.find(rows, program=program, side=side)
    ]
    largest = pgas.find(rows, program="ptrans, weak", ranks=most_ranks, side="cached")
    for row in largest:
        text = f"ptrans with {most_ranks} ranks on {row['network']}"
        claims.append(Claim.at_least(text, 2, row["speed_up"], "times faster", f"{row['seconds']:.4g} s"))
    return claims


def plot(report: Report, path: Path) -> None:
    """Speed-ups on each network, and seconds over the number of ranks."""
    figure, axes = plots.panels(3, width=4.6)
    for axis, program in zip(axes, ("ptrans", "ssca2")):
        rows = pgas.find(report.rows, program=program)
        sides = [side for side in dict.fromkeys(row["side"] for row in rows) if side != "uncached"]
        networks = pgas.networks_of(rows)
        for number, side in enumerate(sides):
            chosen = [Spread.in_row(row, "speed_up").median for row in pgas.find(rows, side=side)]
            places = [i + 0.4 * number for i in range(len(networks))]
            axis.bar_label(axis.bar(places, chosen, 0.38, label=side), fmt="%.2g", fontsize=7)
        axis.set_xticks(range(len(networks)), networks, rotation=70)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(program)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("times faster with the cache")
    weak = pgas.find(report.rows, program="ptrans, weak")
    for network in pgas.networks_of(weak):
        for side, style in (("cached", "-"), ("uncached", ":")):
            rows = pgas.find(weak, network=network, side=side)
            xs = [row["ranks"] for row in rows]
            axes[2].plot(xs, [row["seconds"] for row in rows], style, marker="o", label=f"{network}, {side}")
    axes[2].set_xscale("log", base=2)
    axes[2].set_yscale("log")
    axes[2].set_xlabel("ranks")
    axes[2].set_ylabel("s")
    axes[2].set_title("ptrans, the same work for each rank")
    axes[2].legend(fontsize=7)
    plots.save(figure, path, TITLE)
