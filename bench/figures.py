# SPDX-License-Identifier: Apache-2.0
"""The figures and tables of the three papers: what the papers have, and which benchmark has the same."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Sequence


class Figure(NamedTuple):
    """A figure or table of a paper."""

    name: str
    about: str
    paper: str
    """What the paper has."""
    size: str
    """`same`, or what differs and why."""
    benchmark: str = ""
    shown: Sequence[str] = ()
    """Texts of the benchmark's claims, or of its findings: those of which it is the beginning."""
    note: str = ""


DIAGRAM = "a diagram"
ONE_ITERATION = "same, one iteration"

PAPERS: Mapping[str, Sequence[Figure]] = {
    "000": (
        Figure(
            "Table I",
            "networks",
            "GET of 8 B: 49, 16, 2.1, 1.7 us; of 1 KiB: 11, 52, 405, 415 MB/s",
            "same",
            note="The models and platforms take these values; tests hold them to these.",
        ),
        Figure(
            "Fig. 1",
            "copy, element by element",
            "26x (uGNI) to 98x (InfiniBand), 350x (1 GbE), 480x (10 GbE)",
            "same",
            "fig01_synthetic",
            (
                "copy on aries virtual, cached",
                "copy on fdr-ib virtual, cached",
                "copy on 10gbe virtual, cached",
                "copy on 1gbe virtual, cached",
            ),
        ),
        Figure(
            "Fig. 1",
            "rand-gets: what a miss costs",
            "at most 10 % slower",
            "same",
            "fig01_synthetic",
            (
                "rand_gets on aries virtual: slower by",
                "rand_gets on aries wall: slower by",
                "rand_gets on 1gbe wall: slower by",
            ),
        ),
        Figure(
            "Fig. 1",
            "rand-puts: writes that are not waited for",
            "about 3x (InfiniBand), 3.7x (1 GbE), 2.0x (10 GbE), modest (Aries)",
            "same",
            "fig01_synthetic",
            (
                "rand_puts on aries virtual, cached",
                "rand_puts on fdr-ib virtual, cached",
                "rand_puts on 10gbe virtual, cached",
                "rand_puts on 1gbe virtual, cached",
            ),
        ),
        Figure(
            "Fig. 2",
            "prefetch distance",
            "the best over none: 4x (InfiniBand), 1.3x and 1.9x (Aries)",
            "same",
            "fig02_prefetch",
            (
                "prefetch on aries virtual, 2 ranks, auto",
                "prefetch on fdr-ib virtual, 2 ranks, auto",
                "prefetch on 10gbe virtual, 2 ranks, auto",
            ),
        ),
        Figure(
            "Fig. 2",
            "array headers: the cache alone, and with hints",
            "2 to 3x; 10x (InfiniBand, Ethernet) and 4x (Aries)",
            "same; a header of two words",
            "hoisting",
            (
                "prefetch, no hints on aries virtual, naive, cached",
                "prefetch, hints on aries virtual, naive, cached",
                "prefetch, no hints on fdr-ib virtual, naive, cached",
                "prefetch, hints on fdr-ib virtual, naive, cached",
            ),
        ),
        Figure(
            "section III-D",
            "sync variables, `on` and tasks, each a fence",
            "they flush the cache",
            "a benchmark of ours",
            "hand_over",
            ("hand_over, sync on aries", "hand_over, on on aries", "hand_over, tasks on aries"),
        ),
        Figure(
            "Fig. 3",
            "LULESH",
            "4.9x (uGNI), 3.5x (Aries), 1.3x (InfiniBand); 32 locales 1.2x",
            "a cube of 15^3 elements, 10 cycles; 10^3 to the end; the paper's mesh is not shipped (`--mesh`)",
            "fig03_applications",
            (
                "lulesh on aries virtual",
                "lulesh on fdr-ib virtual",
                "lulesh, all cycles on aries virtual",
                "lulesh, unordered additions on aries virtual",
                "lulesh, combined forces on aries virtual",
                "lulesh, 32 ranks on aries virtual",
            ),
            "What is left: 48 atomic additions an element and cycle, each waited for.",
        ),
        Figure(
            "Fig. 3",
            "miniMD",
            "about 3x; 1.6x (uGNI)",
            "same, with 21 steps",
            "fig03_applications",
            ("minimd on aries virtual", "minimd on fdr-ib virtual", "minimd, 32 ranks on aries virtual"),
        ),
        Figure(
            "Fig. 3",
            "PTRANS",
            "about 2x",
            "same",
            "fig03_applications",
            (
                "ptrans on aries virtual, cached",
                "ptrans on fdr-ib virtual, cached",
                "ptrans, 32 ranks on aries virtual, cached",
            ),
            "Chapel's array headers and software are not modelled.",
        ),
        Figure(
            "Fig. 3",
            "SSCA2, kernel 4",
            "a loss on InfiniBand and uGNI",
            "same",
            "fig03_applications",
            (
                "ssca2 on aries virtual, cached",
                "ssca2 on fdr-ib virtual, cached",
                "ssca2, 32 ranks on aries virtual, cached",
            ),
        ),
        Figure(
            "section V-C",
            "the compiler's part",
            "without cache copy gains 3.5x (Aries), 2.5x (InfiniBand); the cache gains much in both",
            "copy and prefetch with headers of two words; LULESH's loops have no headers here",
            "hoisting",
            ("copy on aries virtual, hoisted", "copy on fdr-ib virtual, hoisted"),
        ),
        Figure(
            "section VII",
            "parameters that need more study",
            "named, not measured",
            "six programs, two networks",
            "parameters",
            ("lulesh on aries virtual: default", "ptrans on aries virtual: default"),
        ),
    ),
    "001": (
        Figure(
            "Fig. 1",
            "latency by distance",
            "below 100 ns to 2 or 3 us",
            "modelled: no such machine here",
            "locality",
            ("a get of 8 B",),
        ),
        Figure(
            "Fig. 2",
            "how often Barnes-Hut repeats gets",
            "up to 3,500 times",
            "same bodies and ranks; four steps: the paper does not say how many",
            "locality",
            ("the most often repeated",),
        ),
        Figure(
            "Fig. 3",
            "sizes of LCC's gets",
            "82 % up to 5 KB, about 1 KB on average",
            "same",
            "locality",
            ("LCC's gets",),
        ),
        *(
            Figure(f"Fig. {number}", about, DIAGRAM, "")
            for number, about in (
                (4, "modes and epochs"),
                (5, "states of an entry"),
                (6, "the buffer's list"),
            )
        ),
        Figure(
            "Fig. 7",
            "what access types cost",
            "hits far below, misses at most 25 % above foMPI's latency",
            "same; MPI over shared memory and TCP on one machine",
            "fig07_access_cost",
            ("get and flush on a hit of 8 B", "a miss over TCP that is cached: time added"),
        ),
        Figure(
            "Fig. 8",
            "overlap",
            "up to 85 % plain; failing misses overlap best",
            "same; MPI over TCP on one machine",
            "fig08_overlap",
            (
                "mpich tcp: overlap of a miss on a window as users get it",
                "mpich tcp: overlap of a failing miss",
            ),
        ),
        Figure(
            "Fig. 9",
            "adaptive index",
            "faster than a fixed one that is too small",
            "same; MPI over TCP on one machine",
            "fig09_adaptive_index",
            (
                "mpich tcp: faster than fixed",
                "mpich tcp: hits more than fixed, as-001",
                "mpich tcp: hits more than adaptive, as-001",
            ),
        ),
        Figure(
            "Fig. 10",
            "occupied space",
            "more with the full policy than with a part of it",
            "same",
            "fig10_occupancy",
            ("mean occupied share with the default policy, |S_w| = 1MiB, over",),
        ),
        Figure(
            "Fig. 11",
            "victim selection",
            "the full policy hits most",
            "same",
            "fig11_victim_selection",
            ("hits of the default policy on 20,000 gets, |S_w| = 1MiB, against as-001",),
        ),
        Figure(
            "Fig. 12",
            "Barnes-Hut over |S_w| and |I_w|",
            "1.53 ms a body plain; adaptive faster than native and fixed",
            "same tree, 2 ranks over TCP, 240 bodies",
            "fig12_barnes_hut",
            ("adaptive, |S_w| = 1MiB, |I_w| = 20000: faster", "Barnes-Hut: time of"),
        ),
        Figure(
            "Fig. 12",
            "the same with 16 ranks",
            "up to 5x",
            "same, gets alone are replayed",
            "paper_sizes",
            ("Barnes-Hut, adaptive, |S_w| = 1MiB, |I_w| = 20000: network time of plain",),
        ),
        Figure(
            "Fig. 12 and 13",
            "the same with 16 ranks, whole programs",
            "up to 5x; few conflicts",
            "same tree; forces on 8 bodies of each rank",
            "paper_ranks",
            ("Barnes-Hut: ",),
        ),
        Figure(
            "Fig. 13",
            "Barnes-Hut's access types",
            "a small fixed index conflicts, an adaptive one does not",
            "same tree, 2 ranks",
            "fig13_barnes_hut_accesses",
            ("adaptive: conflicting misses",),
        ),
        Figure(
            "Fig. 14",
            "Barnes-Hut, weak scaling to 128 ranks",
            "up to 5x plain, 3x native",
            "same trees, and 256 ranks (1,024: over 13 GB); forces on 12 bodies of each rank",
            "fig14_barnes_hut_scaling",
            ("1500 bodies a rank", "8000 bodies a rank"),
        ),
        Figure(
            "Fig. 15",
            "LCC over |S_w| and |I_w|",
            "5x with the largest",
            "R-MAT of 2^14 on 2 ranks over TCP",
            "fig15_lcc",
            ("R-MAT: time of", "LCC of the GitHub network, mpich tcp, 2 ranks: plain communication"),
        ),
        Figure(
            "Fig. 15",
            "the same with 32 ranks",
            "5x with the largest",
            "same, gets alone of three ranks are replayed",
            "paper_sizes",
            ("LCC, fixed, |S_w| = 128MiB, |I_w| = 262144: network time of plain",),
        ),
        Figure(
            "Fig. 15 and 16",
            "the same with 32 ranks, whole programs",
            "5x with the largest; few conflicts",
            "same graph; all vertices of one rank",
            "paper_ranks",
            ("LCC: ",),
        ),
        Figure(
            "Fig. 16",
            "LCC's access types",
            "adaptive: at least 60 % hits",
            "R-MAT of 2^14 on 2 ranks",
            "fig16_lcc_accesses",
            ("adaptive: hits",),
        ),
        Figure(
            "Fig. 17 and 18",
            "LCC, weak scaling to 128 ranks",
            "gains that fall with the ranks",
            "same graphs, and 256 ranks (1,024: four times the graph); all vertices of one rank",
            "fig17_lcc_scaling",
            ("R-MAT",),
        ),
    ),
    "004": (
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
            "Here a copy by hand takes no more GETs than prefetching.",
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
    ),
}
