# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 11 to 15: the programs in their versions, over ranks and on MPI over TCP."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Sequence

from bench import harness, pgas, plots
from bench.harness import Claim, Options, Report, Row, Spread
from bench.pgas import Stage

TITLE = "LAPPS's programs: base, prefetched and optimised by hand (004, Fig. 11 to 15)"

NETWORK = "fdr-ib"
"""The modelled network that is nearest to the paper's: InfiniBand QDR there, FDR here."""
UNCACHED, CACHED, BEST, HAND = "base, no cache", "base", "mc-sd", "hand"
BY_INDICES = ("observed", "gather")
"""What there is where indices are data: learned from the first time, and gathered."""
LONG_ROUNDS = 3
"""Of what takes longer than threads take to be scheduled, to one of what is compared with no cache."""
SIDES = {
    UNCACHED: ("--version", "base", "--no-cache"),
    **{name: ("--version", name) for name in (CACHED, "ac", "ac-sd", "mc", BEST, HAND)},
}


class Kernel(NamedTuple):
    """A program, its sizes, and how much faster than base without a cache it has to be."""

    name: str
    sizes: Sequence[str]
    """The options that say how large it is."""
    dimensions: int
    """The work grows with the size to this power."""
    strong: int
    """The size, whatever the number of ranks is."""
    weak: int
    """For one rank; with more ranks each has the same work."""
    wall: int
    """The size on the wall's clock."""
    mpi: int
    """On a real network, where each message of base without a cache takes its time."""
    faster: float
    long_wall: Sequence[object]
    """Arguments of a run that takes the versions that prefetch some tens of milliseconds on the wall's
    clock."""
    long_mpi: Sequence[object]
    """The same on a real network, some tenths of a second."""
    more: Sequence[object] = ()
    times: float = 1
    """That it goes over its elements."""
    quick: int = 24
    """The size where only the benchmark is tried."""
    log: bool = False
    """Sizes are logarithms: only for some numbers of ranks there is one with which each has the work that one
    has."""
    by_indices: bool = False
    """It has those versions."""

    def arguments(self, size: int) -> list[object]:
        """Of a run of that size."""
        return [word for option in self.sizes for word in (option, size)] + list(self.more)

    def elements(self, size: int) -> float:
        """That the loops of a run of that size go over."""
        return self.times * (2**size if self.log else size) ** self.dimensions

    def scalings(self, ranks: int, options: Options) -> dict[str, int]:
        """The sizes at which this number of ranks is compared."""
        strong = {"strong": options.choose(self.strong, self.quick)} if ranks in counts(options) else {}
        if not self.log:
            grown = round(self.weak * ranks ** (1 / self.dimensions))
            return {**strong, "weak": options.choose(grown, 8 * ranks)} if strong else {}
        doubled = (ranks.bit_length() - 1) / self.dimensions
        if doubled != int(doubled):
            return strong
        return {**strong, "weak": options.choose(self.weak, self.quick) + int(doubled)}

    def sides(self) -> dict[str, Sequence[object]]:
        """Its versions, and base without a cache."""
        more = BY_INDICES if self.by_indices else ()
        return {**SIDES, **{side: ("--version", side) for side in more}}

    def prefetched_sides(self) -> dict[str, Sequence[object]]:
        """Its versions that prefetch, and what is by hand."""
        return {side: words for side, words in self.sides().items() if side not in (UNCACHED, CACHED)}


KERNELS = (
    Kernel(
        "transpose",
        ["--order"],
        2,
        512,
        96,
        256,
        64,
        48,
        ["--order", 1024, "--iterations", 10],
        ["--order", 512, "--iterations", 100],
        ["--iterations", 2],
        2,
    ),
    Kernel(
        "heat",
        ["--cells"],
        3,
        64,
        32,
        64,
        32,
        1.5,
        ["--cells", 64, "--steps", 100],
        ["--cells", 32, "--steps", 100],
        ["--steps", 5],
        5,
    ),
    Kernel(
        "sobel",
        ["--rows", "--columns"],
        2,
        2048,
        512,
        2048,
        512,
        2,
        ["--rows", 8192, "--columns", 8192],
        ["--rows", 8192, "--columns", 8192],
    ),
    Kernel("dgemm", ["--order"], 3, 192, 64, 192, 64, 70, ["--order", 512], ["--order", 1024]),
    Kernel(
        "sparse",
        ["--log-size"],
        2,
        8,
        6,
        8,
        6,
        9,
        ["--log-size", 8, "--iterations", 100],
        ["--log-size", 8, "--iterations", 800],
        ["--iterations", 3],
        3 * 9,
        quick=4,
        log=True,
        by_indices=True,
    ),
)
"""The programs that are measured."""


def run(options: Options) -> Report:
    """Strong and weak scaling in virtual time; one size on the wall's clock and on MPI over TCP.

    There a run that ends within seconds without prefetching takes the other versions milliseconds, in which
    they differ by when their threads are scheduled. So these are compared in longer ones.
    """
    rounds = options.rounds_or(3, 1)
    columns = ("program", "scaling", "network", "ranks", "size", "side", "seconds", "speed_up", "over_base")
    report = Report({"rounds": rounds, "network": NETWORK}, columns=columns)
    virtual = Stage(NETWORK, "virtual")
    for kernel in KERNELS:
        work_ns = _work_ns(kernel, options)
        report.parameters[f"{kernel.name}_work_ns"] = work_ns
        for ranks in sorted({*counts(options), *options.choose((1, 4, 16), ())}):
            for scaling, size in kernel.scalings(ranks, options).items():
                report.rows += _compare(kernel, scaling, size, virtual, ranks, 1, options, work_ns)
        wall, mpi = options.choose((kernel.wall, kernel.mpi), (kernel.quick, kernel.quick))
        report.rows += _compare(kernel, "one", wall, Stage(NETWORK, "wall"), 2, rounds, options)
        tcp = Stage("tcp", "mpi", harness.families()[0])
        report.rows += _compare(kernel, "one", mpi, tcp, 4, rounds, options)
        report.rows += _compare_long(kernel, LONG_ROUNDS * rounds, options)
    for kernel in KERNELS:
        report.claims += _claims(
            kernel, [row for row in report.rows if row["program"] == kernel.name], counts(options)
        )
    return report


def counts(options: Options) -> list[int]:
    """Of ranks, in virtual time."""
    return options.choose([1, 2, 8, 32], [1, 4])


def _work_ns(kernel: Kernel, options: Options) -> float:
    """What the loop's work on an element takes on this machine, as the hand-optimised program has it."""
    size = options.choose(kernel.weak, kernel.quick)
    words = [*kernel.arguments(size), "--version", "hand"]
    times = [pgas.measure(kernel.name, words, Stage(NETWORK, "wall"), 1)["seconds"] for _ in range(5)]
    return float(f"{min(times) * 1e9 / kernel.elements(size):.2g}")


def _compare(
    kernel: Kernel,
    scaling: str,
    size: int,
    stage: Stage,
    ranks: int,
    rounds: int,
    options: Options,
    work_ns: float = 0,
) -> list[Row]:
    words = [*kernel.arguments(size), *(["--work-ns", work_ns] if work_ns else [])]
    return _beside(
        pgas.compare(kernel.name, words, stage, rounds, options, ranks, kernel.sides(), UNCACHED),
        scaling,
        size,
    )


def _compare_long(kernel: Kernel, rounds: int, options: Options) -> list[Row]:
    rows = []
    real = Stage(NETWORK, "wall"), Stage("tcp", "mpi", harness.families()[0])
    for stage, ranks, words in zip(real, (2, 4), (kernel.long_wall, kernel.long_mpi)):
        words = options.choose(words, kernel.arguments(kernel.quick))
        compared = pgas.compare(
            kernel.name, words, stage, rounds, options, ranks, kernel.prefetched_sides(), HAND
        )
        rows += _beside(compared, "long", " ".join(map(str, words)))
    return rows


def _beside(rows: list[Row], scaling: str, size: object) -> list[Row]:
    """The rows, with their speed over the page cache's and over that of what is optimised by hand."""
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"scaling": scaling, "size": size})
        for column, side in (("over_base", CACHED), ("over_hand", HAND)):
            if side in seconds:
                row.update(Spread.of_ratios(seconds[side], row["each_seconds"]).columns(column))
    return rows


def _claims(kernel: Kernel, rows: list[Row], ranks: list[int]) -> list[Claim]:
    best = pgas.find(rows, side=BEST)
    (largest,) = pgas.find(best, scaling="strong", ranks=ranks[-1])
    claims = [
        Claim.at_least(
            f"{kernel.name} with {ranks[-1]} ranks on {largest['network']}, {BEST} over {UNCACHED}",
            kernel.faster,
            largest["speed_up"],
            "times faster",
            f"over base with the page cache {largest['over_base']:.3g}",
        )
    ]
    for time in ("virtual", "wall", "mpi"):
        there = [row for row in pgas.find(best, time=time) if row["scaling"] != "one"]
        worst = min(there, key=lambda row: row["over_hand"])
        place = {key: worst[key] for key in ("scaling", "network", "ranks")}
        (manual,) = pgas.find(rows, side="mc", **place)
        where = (
            f"{worst['network']}, {worst['ranks']} ranks, size {worst['size']}; mc {manual['over_hand']:.3g}"
        )
        text = f"{kernel.name}, {time} time" if time != "mpi" else f"{kernel.name}, MPI over TCP"
        claims.append(Claim.at_least(f"{text}: {BEST} over {HAND}", 1, worst["over_hand"], "times", where))
        for side in BY_INDICES if kernel.by_indices else ():
            (row,) = pgas.find(rows, side=side, **place)
            claims.append(Claim.at_least(f"{text}: {side} over {HAND}", 1, row["over_hand"], "times", where))
    return claims


def plot(report: Report, path: Path) -> None:
    """Seconds over ranks, strong and weak; and how many times faster than base without a cache."""
    figure, axes = plots.panels(3 * len(KERNELS), columns=3, width=4.6)
    for number, kernel in enumerate(KERNELS):
        rows = pgas.find(report.rows, program=kernel.name)
        strong, weak, real = axes[3 * number : 3 * number + 3]
        for axis, scaling in ((strong, "strong"), (weak, "weak")):
            if not pgas.find(rows, scaling=scaling):
                axis.set_axis_off()
                continue
            for side in kernel.sides():
                points = pgas.find(rows, scaling=scaling, side=side)
                seconds = [row["seconds"] for row in points]
                style = ":" if side.startswith("base") else "--" if side == HAND else "-"
                axis.plot([row["ranks"] for row in points], seconds, style, marker="o", ms=3, label=side)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_xlabel("ranks")
            axis.set_title(f"{kernel.name}, {scaling} scaling on {NETWORK}")
        strong.set_ylabel("s")
        if number == 0 or kernel.by_indices:
            strong.legend(fontsize=7)
        places = pgas.networks_of(pgas.find(rows, scaling="one"))
        for shift, side in enumerate(kernel.sides()):
            chosen = pgas.find(rows, scaling="one", side=side)
            at = [i + 0.12 * shift for i in range(len(places))]
            real.bar(at, [row["speed_up"] for row in chosen], 0.11, label=side)
        real.set_xticks([i + 0.36 for i in range(len(places))], places)
        real.set_yscale("log")
        real.set_title(f"{kernel.name}: times faster than without a cache")
    plots.save(figure, path, TITLE)
