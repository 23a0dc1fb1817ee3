# SPDX-License-Identifier: Apache-2.0
"""LAPPS's programs: base, prefetched with one line, and optimised by hand (004, Fig. 11 to 15).

Strong and weak scaling over 1 to 32 ranks in virtual time, on the modelled network that is nearest to the
paper's InfiniBand; 2 ranks on the wall's clock and on MPI over TCP. As in the paper, base has the page
cache on. Versions prefetch with automatic (`ac`) or manual consistency (`mc`), with passive owners (`-sd`)
or without. The figures to reach are the paper's on InfiniBand. In virtual time only the network counts,
and the loop's work.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence

from bench import harness, pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Bars, Lines
from bench.promises import AS_FAST
from bench.report import Claim, Interval, Report, Row, finding, worst

TITLE = "LAPPS's programs on arrays: transpose, heat, Sobel, DGEMM, sparse (004, Fig. 11 to 15)"

SAMPLES = 9

NETWORK = "fdr-ib"
"""The modelled network that is nearest to the paper's: InfiniBand QDR there, FDR here."""
UNCACHED, CACHED, BEST, HAND = "base, no cache", "base", "mc-sd", "hand"
BY_INDICES = ("observed", "gather")
"""What there is where indices are data: learned from the first time, and gathered."""
SIDES = {
    UNCACHED: ("--version", "base", "--no-cache"),
    **{name: ("--version", name) for name in (CACHED, "ac", "ac-sd", "mc", BEST, HAND)},
}


class Kernel(NamedTuple):
    """A program, and its sizes."""

    name: str
    options: Sequence[str]
    """That say how large it is."""
    dimensions: int
    """The work grows with the size to this power."""
    sizes: tuple[int, int, int, int, int]
    """In all; of one rank, where each has the same work; on the wall's clock; on MPI; when tried."""
    faster: Mapping[str, float]
    """How many times faster than base versions have to be."""
    long_wall: str
    """Arguments of a run that takes the versions that prefetch tens of milliseconds on the wall's clock."""
    long_mpi: str
    """The same on MPI, some tenths of a second."""
    more: str = ""
    """Arguments of all other runs."""
    times: float = 1
    """That it goes over its elements."""
    by_indices: bool = False
    """It has those versions. Its size is a logarithm: only some numbers of ranks have the same work each."""

    def arguments(self, size: int) -> list[object]:
        """Of a run of that size."""
        return [word for option in self.options for word in (option, size)] + self.more.split()

    def elements(self, size: int) -> float:
        """That the loops of a run of that size go over."""
        return self.times * (2**size if self.by_indices else size) ** self.dimensions

    def scalings(self, ranks: int, options: Options) -> dict[str, int]:
        """The sizes at which this number of ranks is compared."""
        in_all, of_one, _, _, quick = self.sizes
        strong = {"strong": options.choose(in_all, quick)} if ranks in counts(options) else {}
        if not self.by_indices:
            grown = round(of_one * ranks ** (1 / self.dimensions))
            return {**strong, "weak": options.choose(grown, 8 * ranks)} if strong else {}
        doubled, rest = divmod(ranks.bit_length() - 1, self.dimensions)
        return strong if rest else {**strong, "weak": options.choose(of_one, quick) + doubled}

    def sides(self) -> dict[str, Sequence[object]]:
        """Its versions, and base without a cache."""
        more = BY_INDICES if self.by_indices else ()
        return {**SIDES, **{side: ("--version", side) for side in more}}

    def prefetched_sides(self) -> dict[str, Sequence[object]]:
        """Its versions that prefetch, and what is by hand."""
        return {side: words for side, words in self.sides().items() if side not in (UNCACHED, CACHED)}


KERNELS = (
    Kernel(
        *("transpose", ["--order"], 2, (512, 96, 256, 64, 24), {BEST: 20}),
        *("--order 1024 --iterations 10", "--order 512 --iterations 100", "--iterations 2", 2),
    ),
    Kernel(
        *("heat", ["--cells"], 3, (64, 32, 64, 32, 24), {"ac-sd": 1.5}),
        *("--cells 64 --steps 100", "--cells 32 --steps 100", "--steps 5", 5),
    ),
    Kernel(
        *("sobel", ["--rows", "--columns"], 2, (2048, 512, 2048, 512, 24), {"mc": 2}),
        *("--rows 8192 --columns 8192", "--rows 8192 --columns 8192"),
    ),
    Kernel(
        *("dgemm", ["--order"], 3, (192, 64, 192, 64, 24), {"ac": 40, "mc": 70}),
        *("--order 512", "--order 1024"),
    ),
    Kernel(
        *("sparse", ["--log-size"], 2, (8, 6, 8, 6, 4), {"ac": 1.5, "mc": 3.5}),
        *("--log-size 8 --iterations 100", "--log-size 8 --iterations 800", "--iterations 3", 3 * 9, True),
    ),
)
"""The programs that are measured."""


def run(options: Options) -> Report:
    """Strong and weak scaling in virtual time; one size on the wall's clock and on MPI over TCP.

    There a run that ends within seconds without prefetching takes the other versions milliseconds, in which
    they differ by when their threads are scheduled. So these are compared in longer ones.
    """
    samples = options.samples(SAMPLES)
    columns = "program scaling network ranks size side seconds over_base over_hand"
    report = Report({"samples": samples, "network": NETWORK}, columns=columns)
    virtual = Stage(NETWORK, "virtual")
    for kernel in KERNELS:
        work_ns = _work_ns(kernel, options)
        report.parameters[f"{kernel.name}_work_ns"] = work_ns
        for ranks in sorted({*counts(options), *options.choose((1, 4, 16), ())}):
            for scaling, size in kernel.scalings(ranks, options).items():
                report.rows += _compare(kernel, scaling, size, virtual, ranks, 1, options, work_ns)
        wall, mpi = options.choose(kernel.sizes[2:4], 2 * kernel.sizes[4:])
        report.rows += _compare(kernel, "one", wall, Stage(NETWORK, "wall"), 2, samples, options)
        tcp = Stage("tcp", "mpi", harness.families()[0])
        report.rows += _compare(kernel, "one", mpi, tcp, 2, samples, options)
        report.rows += _compare_long(kernel, samples, options)
    for kernel in KERNELS:
        _add_results(report, kernel, counts(options)[-1])
    virtual_rows = pgas.find(report.rows, time="virtual")
    report.pictures = [
        Lines(virtual_rows, "seconds", "ranks", "side", ["program", "scaling"], log="xy"),
        Bars(pgas.find(report.rows, scaling="one"), "over_base", ["side"], ["program", "network"], log="x"),
    ]
    return report


def counts(options: Options) -> list[int]:
    """Of ranks, in virtual time."""
    return options.choose([1, 2, 8, 32], [1, 4])


def _work_ns(kernel: Kernel, options: Options) -> float:
    """What the loop's work on an element takes on this machine, as the hand-optimised program has it."""
    size = options.choose(*kernel.sizes[1::3])
    words = [*kernel.arguments(size), "--version", "hand"]
    times = [pgas.measure(kernel.name, words, Stage(NETWORK, "wall"), 1)["seconds"] for _ in range(5)]
    return float(f"{min(times) * 1e9 / kernel.elements(size):.2g}")


def _compare(
    kernel: Kernel,
    scaling: str,
    size: int,
    stage: Stage,
    ranks: int,
    samples: int,
    options: Options,
    work_ns: float = 0,
) -> list[Row]:
    words = [*kernel.arguments(size), *(["--work-ns", work_ns] if work_ns else [])]
    return _beside(
        pgas.compare(kernel.name, words, stage, samples, options, ranks, kernel.sides(), CACHED),
        scaling,
        size,
    )


def _compare_long(kernel: Kernel, samples: int, options: Options) -> list[Row]:
    rows = []
    real = Stage(NETWORK, "wall"), Stage("tcp", "mpi", harness.families()[0])
    for stage, words in zip(real, (kernel.long_wall, kernel.long_mpi)):
        words = options.choose(words.split(), kernel.arguments(kernel.sizes[4]))
        compared = pgas.compare(
            kernel.name, words, stage, samples, options, 2, kernel.prefetched_sides(), HAND
        )
        rows += _beside(compared, "long", " ".join(map(str, words)))
    return rows


def _beside(rows: list[Row], scaling: str, size: object) -> list[Row]:
    """The rows, with their speed over base, over base without a cache, and over what is optimised by hand."""
    seconds = {row["side"]: row["each_seconds"] for row in rows}
    for row in rows:
        row.update({"scaling": scaling, "size": size})
        for column, side in (("over_base", CACHED), ("over_uncached", UNCACHED), ("over_hand", HAND)):
            if side in seconds:
                row.update(Interval.of_ratios(seconds[side], row["each_seconds"]).columns(column))
    return rows


def _add_results(report: Report, kernel: Kernel, ranks: int) -> None:
    """The claims and findings of a program."""
    rows = pgas.find(report.rows, program=kernel.name)
    largest = {row["side"]: row for row in pgas.find(rows, scaling="strong", ranks=ranks)}
    for side, row in largest.items():
        text = f"{kernel.name} with {ranks} ranks on {row['network']}, {side} over {CACHED}"
        if side not in (CACHED, UNCACHED):
            report.findings.append(finding(text, largest[CACHED], row, "seconds", "s", "over_base"))
        if side in kernel.faster:
            detail = f"over {UNCACHED} {row['over_uncached']:.3g} times"
            over_base = Interval.in_row(row, "over_base")
            report.claims.append(Claim.at_least(text, kernel.faster[side], over_base, "times faster", detail))
    sides = (BEST, *BY_INDICES) if kernel.by_indices else (BEST,)
    for time in ("virtual", "wall", "mpi"):
        for side in sides:
            there = [
                (
                    Interval.in_row(row, "over_hand"),
                    f"{row['network']}, {row['ranks']} ranks, {row['scaling']}, size {row['size']}",
                )
                for row in pgas.find(rows, side=side, time=time)
                if row["scaling"] != "one"
            ]
            measured, where = worst(Claim.at_least, there)
            least = 1 if time == "virtual" else AS_FAST
            text = f"{kernel.name}, " + ("MPI over TCP" if time == "mpi" else f"{time} time")
            report.claims.append(
                Claim.at_least(f"{text}: {side} over {HAND}", least, measured, "times", where)
            )
