# SPDX-License-Identifier: Apache-2.0
"""A star-shaped stencil on 2 ranks, over the share of accesses that are remote (004, Fig. 10).

The star grows until a point reads all of its row and column: a quarter of the accesses is remote then. The
grid has the paper's 4,096 x 4,096 elements, so the remote part of a column does not fit in the page cache.
Of the rows a sample is computed: two for each radius, and one in each rank with the largest. All elements
that stars of all rows reach are prefetched.

At the largest ratio the paper is 60 and 80 times faster than its base with automatic (`ac`), 100 and 160
times with manual consistency (`mc`), on InfiniBand and Gemini. Its base has the page cache on, and so has
`base` here: it learns the stride of a column and reads ahead. `base with 000's cache` has the mode of the
page cache that is nearest to the paper's, and does not. `base, no cache` is shown with a grid of 128 x 128.
Times are virtual: of the network, the cache, what arrays copy, and the loop's work. `lapps10_real` has real
clocks.
"""

from __future__ import annotations

from functools import partial
from typing import Mapping, NamedTuple, Sequence

from bench import pgas
from bench.harness import Options, on_all_cores
from bench.parameters import PAPERS
from bench.pgas import Stage
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, finding, worst
from bench.versions import CACHED, HAND, NETWORK, NETWORKS, UNCACHED

TITLE = "A star-shaped stencil, over the share of remote accesses (004, Fig. 10)"

AS_PAPER = "base with 000's cache"
SIDES: Mapping[str, Sequence[object]] = {
    UNCACHED: ("--version", "base", "--no-cache"),
    AS_PAPER: ("--version", "base", *PAPERS),
    **{name: ("--version", name) for name in (CACHED, "ac", "mc", HAND)},
}
SMALL = tuple(side for side in SIDES if side != AS_PAPER)
LARGE = tuple(side for side in SIDES if side not in (UNCACHED, AS_PAPER))
LARGEST = tuple(side for side in SIDES if side != UNCACHED)
"""Sides: of the small grid, of the large one, and there at the largest ratio."""
ITERATIONS = 2
RANKS = 2
COLUMNS = "network order radius remote_ratio side seconds speed_up over_uncached over_paper"
FASTER = {NETWORK: {"ac": 60, "mc": 100}, "aries": {"ac": 80, "mc": 160}}
"""What the paper has over its base, which has the cache on, at its largest ratio, 25 %."""


class Star(NamedTuple):
    """A star on a grid, and how many of its rows are computed."""

    order: int
    radius: int
    every: int = 1

    def arguments(self) -> list[object]:
        """Of the program."""
        words: dict[str, object] = {**self._asdict(), "iterations": ITERATIONS}
        return [word for name, value in words.items() for word in (f"--{name}", value)]

    @property
    def work_ns(self) -> float:
        """What an access takes by hand on one rank, as Kernel.work_ns: columns of a large grid leave the
        processor's caches."""
        return 5.3 if self.order > 1024 else 1

    def accesses(self) -> int:
        """In all iterations, where the star reaches all of a row and a column."""
        return ITERATIONS * (self.order // self.every) * self.order * 2 * self.order


class Place(NamedTuple):
    """Where sides are compared."""

    network: str
    star: Star
    sides: Sequence[str]


def run(options: Options) -> Report:
    """The small grid with all stars; the large one with fewer, and with the largest on both networks."""
    large, small = options.choose(4096, 32), options.choose(128, 16)
    places = [Place(NETWORK, Star(small, radius), SMALL) for radius in radii(small, options)]
    for radius in options.choose([1, 16, 64, 256, 1024, 2048], [1]):
        places.append(Place(NETWORK, Star(large, radius, (radius + 1) // 2), LARGE))
    largest = Star(large, large - 1, large // 2)
    places += [Place(network, largest, LARGEST) for network in NETWORKS]
    report = Report({"network": NETWORK, "iterations": ITERATIONS}, columns=COLUMNS)
    for star in (Star(small, small - 1), largest):
        report.parameters[f"work_ns, order {star.order}"] = star.work_ns
    report.rows = _measured(places, options)
    lines = [row for row in report.rows if row["side"] != AS_PAPER]
    report.pictures = [Lines(lines, "speed_up", "remote_ratio", "side", ["network", "order"], log="y")]
    for network in NETWORKS:
        rows = pgas.find(report.rows, order=large, network=str(Stage(network, "virtual")))
        _claim_largest(report, rows, network, largest)
    claim_all_ratios(report, pgas.find(report.rows, network=str(Stage(NETWORK, "virtual"))))
    return report


def radii(order: int, options: Options) -> list[int]:
    """In powers of two, and the one at which the largest ratio is reached."""
    powers = [2**n for n in range(order.bit_length()) if 2**n < order - 1]
    return [*options.choose(powers, [1]), order - 1]


def _measured(places: Sequence[Place], options: Options) -> list[Row]:
    calls = {}
    for number, (network, star, sides) in enumerate(places):
        for side in sides:
            words = [*star.arguments(), "--work-ns", star.work_ns, *SIDES[side]]
            calls[number, side] = partial(
                pgas.measure, "star", words, Stage(network, "virtual"), RANKS, pinned=False
            )
    # The longest first, so that no core is idle at the end: at the largest ratio, without prefetching.
    ordered = sorted(calls, key=lambda each: (each[1] not in (CACHED, AS_PAPER), -each[0]))
    measured = on_all_cores({each: calls[each] for each in ordered}, options, "star")
    rows = []
    for number, (network, star, sides) in enumerate(places):
        reports = {side: [measured[number, side]] for side in sides}
        found = pgas.rows_of("star", Stage(network, "virtual"), RANKS, reports, CACHED)
        rows += beside(found, star, measured[number, CACHED]["remote_ratio"])
    return rows


def beside(rows: list[Row], star: Star, ratio: float) -> list[Row]:
    """The rows with what they are of, and their speed over the base without a cache and with the paper's."""
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"remote_ratio": round(ratio, 4), **star._asdict()})
        for column, side in (("over_uncached", UNCACHED), ("over_paper", AS_PAPER)):
            if side in seconds:
                row.update(Interval.of_ratios(seconds[side], row["each_seconds"]).columns(column))
    return rows


def _claim_largest(report: Report, rows: Sequence[Row], network: str, star: Star) -> None:
    """Adds the claims and findings at the largest ratio, over both bases."""
    accesses = star.accesses() / RANKS
    work_seconds = accesses * star.work_ns * 1e-9
    largest = max(row["remote_ratio"] for row in rows)
    remote = accesses * largest
    at_largest = {row["side"]: row for row in pgas.find(rows, remote_ratio=largest)}
    for side, faster in FASTER[network].items():
        row = at_largest[side]
        for base, column in ((CACHED, "speed_up"), (AS_PAPER, "over_paper")):
            text = f"{row['network']}, {side} over {base} at a ratio of {largest:.0%}"
            detail = _bound(at_largest[base], row, work_seconds, remote, faster)
            report.findings.append(finding(text, at_largest[base], row, "seconds", "s", column))
            over = Interval.in_row(row, column)
            report.claims.append(Claim.at_least(text, faster, over, "times faster", detail))


def _bound(base: Row, row: Row, work_seconds: float, remote: float, target: float) -> str:
    """What bounds the speed-up of `row` over `base`; and what a remote access of the base would have to take,
    so that `row` were `target` times as fast."""
    best = base["seconds"] / (work_seconds + row["bound_seconds"])
    each_ns, wanted_ns = (
        (seconds - work_seconds) * 1e9 / remote for seconds in (base["seconds"], target * row["seconds"])
    )
    return (
        f"order {row['order']}: {base['seconds']:.3g} and {row['seconds']:.3g} s;"
        f" work and network's least alone: {best:.3g} times;"
        f" a remote access of base takes {each_ns:.3g} ns"
        + (f", {target:g} times if {wanted_ns:.3g} ns" if wanted_ns > each_ns else "")
    )


def claim_all_ratios(report: Report, rows: Sequence[Row]) -> None:
    """Adds the claims about the ratio that is worst for prefetching."""
    for side in FASTER[NETWORK]:
        every = [
            (
                Interval.in_row(row, "speed_up"),
                f"order {row['order']}, at a ratio of {row['remote_ratio']:.2%}",
            )
            for row in pgas.find(rows, side=side)
        ]
        least, detail = worst(Claim.at_least, every)
        text = f"{rows[0]['network']}, {side} over {CACHED}, whatever the ratio"
        report.claims.append(Claim.at_least(text, 1, least, "times faster", detail))
