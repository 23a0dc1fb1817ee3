# SPDX-License-Identifier: Apache-2.0
"""Di Girolamo, Vella and Hoefler, *Transparent Caching for RMA Systems*, 2017."""

from __future__ import annotations

from typing import Sequence

from bench.figures.figure import DIAGRAM, Figure

FIGURES: Sequence[Figure] = (
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
)
