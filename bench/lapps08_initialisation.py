# SPDX-License-Identifier: Apache-2.0
"""All of a distributed matrix for every rank: the first call of the pattern (004, Fig. 8).

Prefetched with automatic (`ac`) and manual consistency (`mc`), with passive owners (`-sd`) and without,
against copying the same in bulk by hand. With the paper's 2,048 x 2,048 elements over 2 to 32 ranks on two
modelled networks in virtual time. With 2 ranks over sizes: on all modelled networks, on one of them on the
wall's clock, and on MPI over TCP. In the paper a copy by hand takes more GETs than prefetching, and 6 to 10
times as long on InfiniBand. Here it takes one for each owner with 2 ranks. With more, rows of a block do not
lie one after the other in the copy: a block comes in fragments.
"""

from __future__ import annotations

from typing import Sequence

from bench import pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Lines
from bench.promises import AS_FAST
from bench.report import Claim, Interval, Report, Row, worst
from bench.versions import NETWORK, NETWORKS

TITLE = "All of a distributed matrix for every rank: the first time (004, Fig. 8)"

SAMPLES = 9

HAND = "hand"
SIDES = {name: ("--version", name) for name in ("ac", "ac-sd", "mc", "mc-sd", HAND)}
COLUMNS = "network ranks order side seconds seconds_low seconds_high over_hand"


def run(options: Options) -> Report:
    """Over sizes; over ranks in virtual time."""
    report = compared(options, 1, options.choose([64, 256, 1024, 2048], [24, 48]), "init")
    report.claims.append(_claim_of_figure(report.rows))
    return report


def _claim_of_figure(rows: Sequence[Row]) -> Claim:
    """What the paper has on InfiniBand: 6 to 10 times as fast as a copy by hand."""
    stage, ranks = Stage(NETWORK, "virtual"), max(row["ranks"] for row in rows)
    there = pgas.find(rows, network=str(stage), ranks=ranks)
    prefetched, by_hand = (pgas.find(there, side=side)[-1] for side in ("mc-sd", HAND))
    detail = (
        f"order {by_hand['order']}; GETs: {prefetched['get_messages']}, by hand {by_hand['get_messages']}"
    )
    text = f"mc-sd over {HAND} with {ranks} ranks on {stage}"
    return Claim.at_least(text, 6, Interval.in_row(prefetched, "over_hand"), "times", detail)


def compared(options: Options, iterations: int, orders: Sequence[int], label: str) -> Report:
    """The program `replicate`, which brings all of a matrix of each order so many times."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "network": NETWORK, "iterations": iterations}, columns=COLUMNS)
    stages = [*pgas.stages(options, wall=False), Stage(NETWORK, "wall")]
    counts = options.choose([2, 8, 32], [2, 4])
    places = [(stage, 2, order) for stage in stages for order in orders]
    # The paper's: 2,048 x 2,048 elements over its locales.
    scaled = [Stage(network, "virtual") for network in NETWORKS]
    places += [(stage, ranks, orders[-1]) for stage in scaled for ranks in counts if ranks != 2]
    for stage, ranks, order in places:
        words = ["--order", order, "--iterations", iterations]
        rows = pgas.compare("replicate", words, stage, samples, options, ranks, SIDES, HAND)
        for row in rows:
            row.update({"program": f"replicate, {label}", "order": order})
            # What each is over: `speed_up` is over copying by hand.
            row.update({f"over_hand{end}": row.pop(f"speed_up{end}") for end in ("", "_low", "_high")})
        report.rows += rows
    on_two = pgas.find(report.rows, ranks=2)
    over_ranks = [
        row for stage in scaled for row in pgas.find(report.rows, network=str(stage), order=orders[-1])
    ]
    report.pictures = [
        Lines(on_two, "over_hand", "order", "side", ["network"], log="x"),
        Lines(over_ranks, "seconds", "ranks", "side", ["network"], log="xy"),
    ]
    report.claims += [
        _claim(report.rows, side, time) for side in ("mc-sd", "mc", "ac") for time in _times(report)
    ]
    return report


def _times(report: Report) -> list[str]:
    return list(dict.fromkeys(row["time"] for row in report.rows))


def _claim(rows: Sequence[Row], side: str, time: str) -> Claim:
    chosen = [
        (
            Interval.in_row(row, "over_hand"),
            f"{row['network']}, {row['ranks']} ranks, order {row['order']}",
        )
        for row in pgas.find(rows, side=side, time=time)
    ]
    measured, where = worst(Claim.at_least, chosen)
    text = f"{side} over {HAND}, " + ("MPI over TCP" if time == "mpi" else f"{time} time")
    least = 1 if time == "virtual" else AS_FAST
    return Claim.at_least(f"{text}, the worst of {len(chosen)}", least, measured, "times", where)
