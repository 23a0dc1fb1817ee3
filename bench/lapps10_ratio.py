# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 10: how much prefetching gains, over the share of accesses that are remote."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from bench import harness, pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread
from bench.lapps11_programs import CACHED, HAND, NETWORK, UNCACHED
from bench.pgas import Stage

TITLE = "A star-shaped stencil over the ratio of remote accesses (004, Fig. 10)"

SIDES = {
    UNCACHED: ("--version", "base", "--no-cache"),
    **{name: ("--version", name) for name in (CACHED, "ac", "mc", HAND)},
}
ITERATIONS = 2
FASTER = {"ac": 60, "mc": 100}
"""What the paper has at least at its largest ratio, 25 %."""


def run(options: Options) -> Report:
    """Two ranks, a grid of fixed size, and stars that grow until a point reads all of its row and column."""
    rounds = options.rounds_or(3, 1)
    columns = ("network", "order", "radius", "remote_ratio", "side", "seconds", "speed_up", "over_base")
    report = Report({"rounds": rounds, "network": NETWORK, "iterations": ITERATIONS}, columns=columns)
    work_ns = _work_ns(options)
    report.parameters["work_ns"] = work_ns
    stages = [Stage(NETWORK, "virtual"), Stage(NETWORK, "wall"), Stage("tcp", "mpi", harness.families()[0])]
    for stage in stages:
        order = options.choose(128 if stage.time == "virtual" else 64, 16)
        for radius in _radii(order, options):
            words = ["--order", order, "--radius", radius, "--iterations", ITERATIONS]
            words += ["--work-ns", work_ns] if stage.time == "virtual" else []
            report.rows += _rows(words, stage, rounds, options, {"order": order, "radius": radius})
    for stage in stages:
        report.claims += _claims(pgas.find(report.rows, time=stage.time))
    return report


def _radii(order: int, options: Options) -> list[int]:
    """In powers of two, and the one at which the largest ratio is reached."""
    powers = [2**n for n in range(order.bit_length()) if 2**n < order - 1]
    return [*options.choose(powers, [1]), order - 1]


def _work_ns(options: Options) -> float:
    """What an access takes on this machine, as the hand-optimised version has it on one rank."""
    order = options.choose(128, 32)
    words = ["--order", order, "--radius", order - 1, "--iterations", ITERATIONS, "--version", HAND]
    times = [pgas.measure("star", words, Stage(NETWORK, "wall"), 1)["seconds"] for _ in range(5)]
    return float(f"{min(times) * 1e9 / (ITERATIONS * 2 * order**3):.2g}")


def _rows(
    words: Sequence[object], stage: Stage, rounds: int, options: Options, more: dict[str, int]
) -> list[Row]:
    ratio = pgas.measure("star", [*words, "--version", HAND], stage)["remote_ratio"]
    rows = pgas.compare("star", words, stage, rounds, options, 2, SIDES, UNCACHED)
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"remote_ratio": round(ratio, 4), **more})
        row.update(Spread.of_ratios(seconds[CACHED], row["each_seconds"]).columns("over_base"))
    return rows


def _claims(rows: Sequence[Row]) -> list[Claim]:
    where = rows[0]["network"]
    claims = []
    for side, faster in FASTER.items():
        chosen = pgas.find(rows, side=side)
        most = max(chosen, key=lambda row: row["remote_ratio"])
        detail = f"over base with the page cache {most['over_base']:.3g}"
        text = f"{where}, {side} over {UNCACHED} at a ratio of {most['remote_ratio']:.0%}"
        claims.append(Claim.at_least(text, faster, most["speed_up"], "times faster", detail))
        least = min(chosen, key=lambda row: row["over_base"])
        detail = f"at a ratio of {least['remote_ratio']:.2%}"
        text = f"{where}, {side} over {CACHED}, whatever the ratio"
        claims.append(Claim.at_least(text, 1, least["over_base"], "times faster", detail))
    return claims


def plot(report: Report, path: Path) -> None:
    """The speed-up over base without a cache, over the ratio."""
    networks = pgas.networks_of(report.rows)
    figure, axes = plots.panels(len(networks))
    for axis, network in zip(axes, networks):
        for side in SIDES:
            rows = pgas.find(report.rows, network=network, side=side)
            spreads = [Spread.in_row(row, "speed_up") for row in rows]
            plots.line(axis, [100 * row["remote_ratio"] for row in rows], spreads, side)
        axis.set_yscale("log")
        axis.set_xlabel("remote accesses, %")
        axis.set_title(f"{network}: times faster than without a cache", fontsize=8)
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
