# SPDX-License-Identifier: Apache-2.0
"""Kayraklioglu, Ferguson and El-Ghazawi, *LAPPS*, 2018."""

from __future__ import annotations

from typing import Sequence

from bench.figures.figure import DIAGRAM, Figure

ONE_ITERATION = "same, one iteration"

FIGURES: Sequence[Figure] = (
    Figure(
        "Fig. 1",
        "transpose on 32 nodes",
        "48x",
        ONE_ITERATION,
        "lapps14_transpose",
        ("transpose with 32 ranks on fdr-ib virtual, mc-sd over base",),
        "Less than 48x: the claim is of Fig. 14, where the paper has 20x of the same program.",
    ),
    *(
        Figure(f"Fig. {number}", about, DIAGRAM, "")
        for number, about in (
            (2, "the system"),
            (3, "patterns"),
            (4, "states of an entry"),
            (5, "a prefetch in time"),
            (6, "cache and prefetch buffer"),
        )
    ),
    Figure(
        "Table 1",
        "a user's effort",
        "lines and tasks",
        "lines are counted",
        "lapps16_footprint",
        ("transpose: lines that ac adds", "dgemm: lines that ac adds"),
    ),
    *(
        Figure(f"Table {number}", about, "a list, no result", "")
        for number, about in ((2, "related work"), (3, "layers of Chapel"))
    ),
    Figure(
        "Fig. 7 and Table 4",
        "access costs",
        "prefetched: far below remote, above own; ac 30 to 50 % slower than mc",
        "all ten types, address and access apart; parts of 64 KiB and 128 MiB, modelled networks",
        "lapps07_access_cost",
        (
            "prefetched, mc: time over own",
            "prefetched, ac: time over own",
            "prefetched, ac: time over prefetched, mc",
            "prefetched, mc: time over remote, strides from 64",
            "remote, checked: time over located",
        ),
    ),
    Figure(
        "Fig. 8",
        "initialisation",
        "6 to 10x over hand (InfiniBand)",
        "same, over up to 32 ranks",
        "lapps08_initialisation",
        ("mc-sd over hand with", "mc-sd over hand, virtual time", "ac over hand, virtual time"),
        "By hand a rank takes 496 GETs, 16 of each block, and prefetched 31. The bytes alone, 31 MB at "
        "6.8 GB/s, bound the factor at 3.98.",
    ),
    Figure(
        "Fig. 9",
        "update",
        "static domains better (InfiniBand)",
        "same, over up to 32 ranks",
        "lapps09_update",
        ("mc-sd over hand, virtual time", "ac over hand, virtual time"),
    ),
    Figure(
        "Fig. 10",
        "ratio of remote accesses",
        "at 25 %: 100 to 160x (mc), 60 to 80x (ac)",
        "same; two of the rows are computed, all are prefetched",
        "lapps10_ratio",
        (
            "fdr-ib virtual, ac over base at a ratio of 25%",
            "fdr-ib virtual, mc over base at a ratio of 25%",
            "fdr-ib virtual, ac over base with 000's cache at a ratio of 25%",
            "fdr-ib virtual, mc over base with 000's cache at a ratio of 25%",
            "aries virtual, ac over base with 000's cache at a ratio of 25%",
            "aries virtual, mc over base with 000's cache at a ratio of 25%",
        ),
    ),
    Figure(
        "Fig. 10",
        "the same on real clocks",
        "at 25 %: 100 to 160x (mc), 60 to 80x (ac)",
        "an order of 64 for 4,096; base fits in its cache",
        "lapps10_real",
        ("mpich tcp, ac over base at", "mpich tcp, mc over base at"),
    ),
    Figure(
        "Fig. 11",
        "Sobel",
        "up to 2x (mc, InfiniBand), less on Gemini; ac a little slower",
        "same",
        "lapps11_sobel",
        (
            "sobel with 32 ranks on fdr-ib virtual, mc over base",
            "sobel with 32 ranks on aries virtual, mc over base",
        ),
    ),
    Figure(
        "Fig. 12",
        "heat",
        "about 1.5x (ac-sd)",
        "same, the first 5 of 25,000 steps",
        "lapps12_heat",
        (
            "heat with 32 ranks on fdr-ib virtual, ac-sd over base",
            "heat with 32 ranks on aries virtual, ac-sd over base",
        ),
    ),
    Figure(
        "Fig. 12",
        "heat, to convergence",
        "about 1.5x (ac-sd)",
        "64 cells along each edge for 400, so 1,771 steps",
        "lapps12_convergence",
        ("heat to convergence",),
    ),
    Figure(
        "Fig. 13",
        "PRK-DGEMM",
        "about 100x; 40x (ac), 70x (mc)",
        "an order of 2,048 for 4,096, which takes base a quarter of an hour",
        "lapps13_dgemm",
        (
            "dgemm with 32 ranks on fdr-ib virtual, ac over base",
            "dgemm with 32 ranks on fdr-ib virtual, mc over base",
            "dgemm with 32 ranks on aries virtual, ac over base",
        ),
        "A read of base takes 10 ns here where it hits; Chapel's check of an access is not modelled.",
    ),
    Figure(
        "Fig. 14",
        "PRK-Transpose",
        "up to 20x (InfiniBand), 50x (Gemini)",
        ONE_ITERATION,
        "lapps14_transpose",
        (
            "transpose with 32 ranks on fdr-ib virtual, mc-sd over base",
            "transpose with 32 ranks on aries virtual, mc over base",
        ),
    ),
    Figure(
        "Fig. 15",
        "PRK-Sparse",
        "1.5x (ac), 3.5x (others); 4x and 9x (Gemini)",
        "same, one product",
        "lapps15_sparse",
        (
            "sparse with 32 ranks on fdr-ib virtual, ac over base",
            "sparse with 32 ranks on fdr-ib virtual, mc over base",
            "sparse with 32 ranks on aries virtual, ac over base",
            "sparse with 32 ranks on aries virtual, mc over base",
        ),
    ),
    Figure(
        "Fig. 11 to 15",
        "the same on real networks",
        "InfiniBand and Gemini",
        "smaller: base runs without a cache, too; 2 ranks on MPI over TCP",
        "lapps11_programs",
        (
            "transpose, MPI over TCP: mc-sd over hand",
            "heat, MPI over TCP: mc-sd over hand",
            "sobel, MPI over TCP: mc-sd over hand",
            "dgemm, MPI over TCP: mc-sd over hand",
            "sparse, MPI over TCP: mc-sd over hand",
        ),
    ),
    Figure(
        "Fig. 16",
        "memory",
        "more than base, as hand",
        "8 ranks for 32, one iteration; DGEMM's order halved, sparse's rows quartered; the peak of the "
        "process that has all 8 ranks, for the mean of 31 locales",
        "lapps16_footprint",
        ("memory of ac, over hand", "memory of mc, over hand"),
    ),
)
