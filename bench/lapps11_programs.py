# SPDX-License-Identifier: Apache-2.0
"""LAPPS's programs: base, prefetched with one line, and optimised by hand (004, Fig. 11 to 15).

At sizes at which base can run without a cache, too. Strong and weak scaling over 1 to 32 ranks in virtual
time, on the modelled networks that are nearest to the paper's InfiniBand and Gemini; 2 ranks on the wall's
clock and on MPI over TCP. As in the paper, base has the page cache on. Versions prefetch with automatic
(`ac`) or manual consistency (`mc`), with passive owners (`-sd`) or without. In virtual time the network, the
cache, what arrays copy and the loop's work count. The figures themselves, at the paper's sizes, are
`lapps11_sobel` to `lapps15_sparse`.
"""

from __future__ import annotations

from bench import harness, pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Bars, Lines
from bench.promises import AS_FAST
from bench.report import Claim, Interval, Report, Row, finding, worst
from bench.versions import (
    BEST,
    BY_INDICES,
    CACHED,
    COLUMNS,
    HAND,
    KERNELS,
    NETWORK,
    NETWORKS,
    UNCACHED,
    Kernel,
    beside,
)

TITLE = "LAPPS's programs on arrays, on modelled networks and on real ones (004, Fig. 11 to 15)"

SAMPLES = 9


def run(options: Options) -> Report:
    """Strong and weak scaling in virtual time; one size on the wall's clock and on MPI over TCP.

    There a run that ends within seconds without prefetching takes the other versions milliseconds, in which
    they differ by when their threads are scheduled. So these are compared in longer ones.
    """
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "network": NETWORK}, columns=COLUMNS)
    for kernel in KERNELS:
        report.parameters[f"{kernel.name}_work_ns"] = kernel.work_ns
        for ranks in sorted({*counts(options), *options.choose((1, 4, 16), ())}):
            for scaling, size in _scalings(kernel, ranks, options).items():
                for network in NETWORKS:
                    stage = Stage(network, "virtual")
                    report.rows += _compare(kernel, scaling, size, stage, ranks, 1, options)
        wall, mpi = options.choose(kernel.sizes[2:4], 2 * kernel.sizes[4:])
        report.rows += _compare(kernel, "one", wall, Stage(NETWORK, "wall"), 2, samples, options)
        tcp = Stage("tcp", "mpi", harness.families()[0])
        report.rows += _compare(kernel, "one", mpi, tcp, 2, samples, options)
        report.rows += _compare_long(kernel, samples, options)
    for kernel in KERNELS:
        _add_results(report, kernel, counts(options)[-1])
    virtual_rows = pgas.find(report.rows, time="virtual")
    report.pictures = [
        Lines(virtual_rows, "seconds", "ranks", "side", ["program", "scaling", "network"], log="xy"),
        Bars(pgas.find(report.rows, scaling="one"), "over_base", ["side"], ["program", "network"], log="x"),
    ]
    return report


def counts(options: Options) -> list[int]:
    """Of ranks, in virtual time."""
    return options.choose([1, 2, 8, 32], [1, 4])


def _scalings(kernel: Kernel, ranks: int, options: Options) -> dict[str, int]:
    """The sizes at which this number of ranks is compared."""
    in_all, of_one, _, _, quick = kernel.sizes
    strong = {"strong": options.choose(in_all, quick)} if ranks in counts(options) else {}
    if kernel.by_indices:
        grown = kernel.grown(options.choose(of_one, quick), ranks)
        return {**strong, "weak": grown} if grown else strong
    grown = options.choose(kernel.grown(of_one, ranks), 8 * ranks)
    return {**strong, "weak": grown} if strong else {}


def _compare(
    kernel: Kernel,
    scaling: str,
    size: int,
    stage: Stage,
    ranks: int,
    samples: int,
    options: Options,
) -> list[Row]:
    words = [*kernel.arguments(size), "--work-ns", kernel.work_ns]
    return beside(
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
        rows += beside(compared, "long", " ".join(map(str, words)))
    return rows


def _add_results(report: Report, kernel: Kernel, ranks: int) -> None:
    """The claims and findings of a program."""
    rows = pgas.find(report.rows, program=kernel.name)
    for network in NETWORKS:
        stage = str(Stage(network, "virtual"))
        largest = pgas.find(rows, scaling="strong", ranks=ranks, network=stage)
        for base, column in ((CACHED, "over_base"), (UNCACHED, "over_uncached")):
            slow = next(row for row in largest if row["side"] == base)
            for row in largest:
                if row["side"] not in (base, UNCACHED):
                    text = f"{kernel.name} with {ranks} ranks on {stage}, {row['side']} over {base}"
                    report.findings.append(finding(text, slow, row, "seconds", "s", column))
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
