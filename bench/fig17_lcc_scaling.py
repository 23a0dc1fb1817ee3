# SPDX-License-Identifier: Apache-2.0
"""LCC: weak scaling, communication time and access types with 16 to 256 ranks (001, Fig. 17 and 18).

The ranks are SimGrid's, one on a node of a Cray XC like Piz Daint (docs/smpi.md). Times are virtual and
exact. The graphs are R-MAT with edge factor 16 and 2^15 vertices a rank; |S_w| = 128 MB and |I_w| = 128K, as
in the paper. The vertices are numbered at random, so that each rank has about as many edges. Rank 0 computes
the coefficients of all of its vertices, and the other ranks serve: a get takes some 30 us to simulate, and a
rank has a million. `infinite cache` is the plain program's time without the gets that a rank repeats, as if
hits took no time. Here they are large, and a hit is charged its copy: 8 B take 1 ns. `ideal cache` has these
copies, and gets again what is slower to copy. With 128 ranks the lists that a rank reads are larger than
|S_w|. as-001 bypasses nothing, as in the paper.

The paper ends at 128 ranks. A run of 256 ranks takes 4 GB, and a minute of the processor's time. A run of
1,024 takes a graph four times as large, which rank 0 makes and sorts for each side anew. That is more than
the 20 minutes that a benchmark may take.
"""

from __future__ import annotations

from bench import scaling
from bench.harness import Options
from bench.report import Report

TITLE = "LCC: weak scaling with 16 to 256 ranks, in virtual time (001, Fig. 17 and 18)"

LCC = scaling.Scaling(
    program="lcc",
    value="communication_seconds",
    same="average",
    mode="always-cache",
    settings={"buffer_bytes": "128MiB", "index_entries": 131072},
    first_gets=scaling.LCC_FIRST_GETS,
)


def run(options: Options) -> Report:
    """One run each."""
    alone = ["--edge-factor", 16, "--shuffle", "--max-ranks", 1]
    scales = options.choose({16: 19, 32: 20, 64: 21, 128: 22, 256: 23}, {4: 10, 8: 11})
    cases = [scaling.Case("R-MAT", ranks, ["--rmat-scale", scale, *alone]) for ranks, scale in scales.items()]
    return LCC.report(cases, 5, options)
