# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 8: what the first call of a pattern costs, against copying the same by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from bench import pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread
from bench.lapps11_programs import NETWORK
from bench.pgas import Stage

TITLE = "All of a distributed matrix for every rank: the first time (004, Fig. 8)"

HAND = "hand"
SIDES = {name: ("--version", name) for name in ("ac", "ac-sd", "mc", "mc-sd", HAND)}
COLUMNS = ("network", "ranks", "order", "side", "seconds", "seconds_q1", "seconds_q3", "over_hand")


def run(options: Options) -> Report:
    """Over sizes; over ranks in virtual time."""
    return compared(options, 1, options.choose([64, 256, 1024, 2048], [24, 48]), "init")


def compared(options: Options, iterations: int, orders: Sequence[int], label: str) -> Report:
    """The program `replicate`, which brings all of a matrix of each order so many times."""
    rounds = options.rounds_or(5, 1)
    report = Report({"rounds": rounds, "network": NETWORK, "iterations": iterations}, columns=COLUMNS)
    stages = [*pgas.stages(options, wall=False), Stage(NETWORK, "wall")]
    counts = options.choose([2, 8, 32], [2, 4])
    middle = orders[len(orders) // 2]
    places = [(stage, 4 if stage.time == "mpi" else 2, order) for stage in stages for order in orders]
    places += [(Stage(NETWORK, "virtual"), ranks, middle) for ranks in counts if ranks != 2]
    for stage, ranks, order in places:
        words = ["--order", order, "--iterations", iterations]
        rows = pgas.compare("replicate", words, stage, rounds, options, ranks, SIDES, HAND)
        for row in rows:
            row.update({"program": f"replicate, {label}", "order": order})
            # What each is over: `speed_up` is over copying by hand.
            row.update({f"over_hand{end}": row.pop(f"speed_up{end}") for end in ("", "_q1", "_q3")})
        report.rows += rows
    report.claims += [
        _claim(report.rows, side, time) for side in ("mc-sd", "mc", "ac") for time in _times(report)
    ]
    return report


def _times(report: Report) -> list[str]:
    return list(dict.fromkeys(row["time"] for row in report.rows))


def _claim(rows: Sequence[Row], side: str, time: str) -> Claim:
    worst = min(pgas.find(rows, side=side, time=time), key=lambda row: row["over_hand"])
    text = f"{side} over {HAND}, " + ("MPI over TCP" if time == "mpi" else f"{time} time")
    where = f"{worst['network']}, {worst['ranks']} ranks, order {worst['order']}"
    return Claim.at_least(text, 1, worst["over_hand"], "times", where)


def plot(report: Report, path: Path) -> None:
    """How many times faster than by hand, over sizes for each stage; and seconds over ranks."""
    drawn(report, path, TITLE)


def drawn(report: Report, path: Path, title: str) -> None:
    """The picture of `compared`."""
    networks = pgas.networks_of(report.rows)
    figure, axes = plots.panels(len(networks) + 1)
    for axis, network in zip(axes, networks):
        ranks = pgas.find(report.rows, network=network)[0]["ranks"]
        for side in SIDES:
            rows = pgas.find(report.rows, network=network, side=side, ranks=ranks)
            spreads = [Spread.in_row(row, "over_hand") for row in rows]
            plots.line(axis, [row["order"] for row in rows], spreads, side)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("order of the matrix")
        axis.set_title(f"{network}, {ranks} ranks: times as fast as by hand", fontsize=8)
    over_ranks = axes[-1]
    for side in SIDES:
        rows = pgas.find(report.rows, network=str(Stage(NETWORK, "virtual")), side=side)
        order = next(row["order"] for row in rows if row["ranks"] != 2)
        rows = sorted(pgas.find(rows, order=order), key=lambda row: row["ranks"])
        over_ranks.plot(
            [row["ranks"] for row in rows], [row["seconds"] for row in rows], marker="o", label=side
        )
    over_ranks.set_xscale("log", base=2)
    over_ranks.set_yscale("log")
    over_ranks.set_xlabel("ranks")
    over_ranks.set_title(f"{NETWORK}, virtual time: seconds", fontsize=8)
    axes[0].legend(fontsize=7)
    plots.save(figure, path, title)
