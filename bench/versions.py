# SPDX-License-Identifier: Apache-2.0
"""LAPPS's programs in their versions: their sizes, and a figure of the paper at its size (004)."""

from __future__ import annotations

from functools import partial
from typing import Mapping, NamedTuple, Sequence

from bench import pgas
from bench.harness import Options, on_all_cores
from bench.pgas import Stage
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, finding, worst

NETWORK = "fdr-ib"
"""The modelled network that is nearest to the paper's InfiniBand: QDR there, FDR here."""
NETWORKS = (NETWORK, "aries")
"""The other one is nearest to the paper's Gemini."""
UNCACHED, CACHED, BEST, HAND = "base, no cache", "base", "mc-sd", "hand"
BY_INDICES = ("observed", "gather")
"""What there is where indices are data: learned from the first time, and gathered."""
SIDES = {
    UNCACHED: ("--version", "base", "--no-cache"),
    **{name: ("--version", name) for name in (CACHED, "ac", "ac-sd", "mc", BEST, HAND)},
}
COUNTS = (1, 2, 8, 32)
"""Of ranks, in the figures."""
COLUMNS = "program scaling network ranks size side seconds over_base over_uncached over_hand"


class Kernel(NamedTuple):
    """A program, and its sizes."""

    name: str
    options: Sequence[str]
    """That say how large it is."""
    dimensions: int
    """The work grows with the size to this power."""
    sizes: tuple[int, int, int, int, int]
    """In all; of one rank, where each has the same work; on the wall's clock; on MPI; when tried."""
    figure: int
    """The size in the paper's figure, or the largest that can be run."""
    faster: Mapping[str, Mapping[str, float]]
    """How many times faster than base versions have to be with that size, on each network."""
    work_ns: float
    """What the loop does with an element takes on one rank with its share of that size, where nothing is
    remote (docs/benchmarks.md)."""
    long_wall: str
    """Arguments of a run that takes the versions that prefetch tens of milliseconds on the wall's clock."""
    long_mpi: str
    """The same on MPI, some tenths of a second."""
    more: str = ""
    """Arguments of all other runs."""
    figure_more: str = ""
    """Arguments of the runs of the figure, in place of `more`."""
    figure_times: float = 1
    """That they go over its elements."""
    by_indices: bool = False
    """It has those versions. Its size is a logarithm: only some numbers of ranks have the same work each."""

    def arguments(self, size: int, figure: bool = False) -> list[object]:
        """Of a run of that size."""
        more = self.figure_more if figure else self.more
        return [word for option in self.options for word in (option, size)] + more.split()

    def work_seconds(self, size: int) -> float:
        """What the loops of a figure's run of that size take, in all ranks."""
        elements = (2**size if self.by_indices else size) ** self.dimensions
        return self.figure_times * elements * self.work_ns * 1e-9

    def grown(self, size: int, times: float) -> int:
        """The size at which there is so many times the work, or 0 where there is none."""
        if not self.by_indices:
            return round(size * times ** (1 / self.dimensions))
        of_each = 2**self.dimensions
        while times > 1:
            times, size = times / of_each, size + 1
        while times < 1:
            times, size = times * of_each, size - 1
        return size if times == 1 else 0

    def sides(self) -> dict[str, Sequence[object]]:
        """Its versions, and base without a cache."""
        more = BY_INDICES if self.by_indices else ()
        return {**SIDES, **{side: ("--version", side) for side in more}}

    def prefetched_sides(self) -> dict[str, Sequence[object]]:
        """Its versions that prefetch, and what is by hand."""
        return {side: words for side, words in self.sides().items() if side not in (UNCACHED, CACHED)}


TRANSPOSE = Kernel(
    *("transpose", ["--order"], 2, (512, 96, 256, 64, 24), 8192),
    {NETWORK: {BEST: 20}, "aries": {"mc": 50}},
    2.4,
    *("--order 1024 --iterations 10", "--order 512 --iterations 100", "--iterations 2"),
    "--iterations 1",
)
HEAT = Kernel(
    *("heat", ["--cells"], 3, (64, 32, 64, 32, 24), 400),
    {NETWORK: {"ac-sd": 1.5}},
    3.8,
    *("--cells 64 --steps 100", "--cells 32 --steps 100", "--steps 5"),
    *("--steps 5", 5),
)
SOBEL = Kernel(
    *("sobel", ["--rows", "--columns"], 2, (2048, 512, 2048, 512, 24), 20000),
    {NETWORK: {"mc": 2}},
    0.31,
    *("--rows 8192 --columns 8192", "--rows 8192 --columns 8192"),
)
DGEMM = Kernel(
    *("dgemm", ["--order"], 3, (192, 64, 192, 64, 24), 2048),
    {NETWORK: {"ac": 40, "mc": 70}, "aries": {"ac": 100}},
    0.2,
    *("--order 512", "--order 1024"),
)
SPARSE = Kernel(
    *("sparse", ["--log-size"], 2, (8, 6, 8, 6, 4), 10),
    {NETWORK: {"ac": 1.5, "mc": 3.5}, "aries": {"ac": 4, "mc": 9}},
    0.85,
    *("--log-size 8 --iterations 100", "--log-size 8 --iterations 800", "--iterations 3"),
    *("--iterations 1", 25),
    by_indices=True,
)
KERNELS = (TRANSPOSE, HEAT, SOBEL, DGEMM, SPARSE)
"""The programs that are measured."""


def beside(rows: list[Row], scaling: str, size: object) -> list[Row]:
    """The rows, with their speed over base, over base without a cache, and over what is optimised by hand."""
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"scaling": scaling, "size": size})
        for column, side in (("over_base", CACHED), ("over_uncached", UNCACHED), ("over_hand", HAND)):
            if side in seconds:
                row.update(Interval.of_ratios(seconds[side], row["each_seconds"]).columns(column))
    return rows


class Place(NamedTuple):
    """Where a figure's versions are compared, and with which size."""

    network: str
    ranks: int
    size: int
    sides: tuple[str, ...]

    @property
    def stage(self) -> Stage:
        """The network, in virtual time."""
        return Stage(self.network, "virtual")


def figure(kernel: Kernel, options: Options) -> Report:
    """The versions at the size of the paper's figure, in virtual time on two networks.

    Without a cache each access is a message. That takes too long there, so it is compared at a smaller size,
    too (`small`).
    """
    report = Report({f"{kernel.name}_work_ns": kernel.work_ns, "more": kernel.figure_more}, columns=COLUMNS)
    places = _places(kernel, options)
    calls = {}
    for place in {place for _, place in places}:
        words = [*kernel.arguments(place.size, figure=True), "--work-ns", kernel.work_ns]
        for side in place.sides:
            more = kernel.sides()[side]
            calls[place, side] = partial(
                pgas.measure, kernel.name, [*words, *more], place.stage, place.ranks, pinned=False
            )
    # The longest first, so that no core is idle at the end.
    ordered = sorted(calls, key=lambda each: (each[1] not in (CACHED, UNCACHED), -each[0].size, each))
    measured = on_all_cores({each: calls[each] for each in ordered}, options, kernel.name)
    for scaling, place in places:
        reports = {side: [measured[place, side]] for side in place.sides}
        rows = pgas.rows_of(kernel.name, place.stage, place.ranks, reports, CACHED)
        report.rows += beside(rows, scaling, place.size)
    for network in NETWORKS:
        _add_results(report, kernel, Stage(network, "virtual"))
    of_figure = [row for row in report.rows if row["scaling"] != "small"]
    report.pictures = [Lines(of_figure, "seconds", "ranks", "side", ["network", "scaling"], log="xy")]
    return report


def _places(kernel: Kernel, options: Options) -> list[tuple[str, Place]]:
    """Each with its scaling. `observed` begins as base does: it takes too long."""
    counts = options.choose(COUNTS, (1, 4))
    quick = kernel.sizes[4]
    largest = options.choose(kernel.figure, quick)
    small = tuple(side for side in kernel.sides() if side != "observed")
    sides = tuple(side for side in small if side != UNCACHED)
    places = []
    for network in NETWORKS:
        for ranks in counts:
            places.append(("strong", Place(network, ranks, largest, sides)))
            weak = kernel.grown(largest, ranks / counts[-1])
            if weak > 0 and (not kernel.by_indices or weak >= quick):
                places.append(("weak", Place(network, ranks, weak, sides)))
        size = options.choose(kernel.sizes[0], quick)
        places.append(("small", Place(network, counts[-1], size, small)))
    return places


def _add_results(report: Report, kernel: Kernel, stage: Stage) -> None:
    """The claims and findings on a network, with the most ranks."""
    rows = pgas.find(report.rows, network=str(stage))
    ranks = max(row["ranks"] for row in rows)
    largest = pgas.find(rows, scaling="strong", ranks=ranks)
    small = {row["side"]: row for row in pgas.find(rows, scaling="small")}
    base = next(row for row in largest if row["side"] == CACHED)
    for row in largest:
        side = row["side"]
        if side == CACHED:
            continue
        text = f"{kernel.name} with {ranks} ranks on {stage}, {side} over {CACHED}"
        report.findings.append(finding(text, base, row, "seconds", "s", "over_base"))
        if side in kernel.faster.get(stage.network, {}):
            at_small = small[side]
            least = kernel.faster[stage.network][side]
            work_seconds = kernel.work_seconds(row["size"]) / ranks
            detail = (
                f"size {row['size']}: {base['seconds']:.3g} and {row['seconds']:.3g} s;"
                f" size {at_small['size']}: {at_small['over_base']:.3g} times,"
                f" over {UNCACHED} {at_small['over_uncached']:.3g} times;"
                f" {pgas.read_bound(base, row, work_seconds, least)}"
            )
            over_base = Interval.in_row(row, "over_base")
            report.claims.append(Claim.at_least(text, least, over_base, "times faster", detail))
    over_uncached = [
        finding(
            f"{kernel.name} with {ranks} ranks on {stage}, size {row['size']}, {side} over {UNCACHED}",
            *(small[UNCACHED], row, "seconds", "s", "over_uncached"),
        )
        for side, row in small.items()
        if side != UNCACHED
    ]
    report.findings += over_uncached
    there = [
        (Interval.in_row(row, "over_hand"), f"{row['ranks']} ranks, {row['scaling']}, size {row['size']}")
        for row in pgas.find(rows, side=BEST)
    ]
    measured, where = worst(Claim.at_least, there)
    text = f"{kernel.name} on {stage}: {BEST} over {HAND}"
    report.claims.append(Claim.at_least(text, 1, measured, "times", where))
