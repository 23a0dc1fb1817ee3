# SPDX-License-Identifier: Apache-2.0
"""LCC: weak scaling, communication time and access types with 16 to 128 ranks (001, Fig. 17 and 18).

The ranks are SimGrid's, one on a node of a Cray XC like Piz Daint (docs/smpi.md). Times are virtual and
exact. The graphs are R-MAT with edge factor 16; |S_w| = 128 MB and |I_w| = 128K, as in the paper. Of its 2^15
vertices a rank there are 2^13, because with all of them a run of 64 ranks takes five minutes. Each rank
looks at its first vertices, so less is asked again than in the paper. A run of 256 ranks takes 11 GB.
"""

from __future__ import annotations

from bench import scaling
from bench.harness import Options
from bench.report import Report

TITLE = "LCC: weak scaling with 16 to 128 ranks, in virtual time (001, Fig. 17 and 18)"

LCC = scaling.Scaling(
    program="lcc",
    value="communication_seconds",
    same="average",
    mode="always-cache",
    settings={"buffer_bytes": "128MiB", "index_entries": 131072},
)


def run(options: Options) -> Report:
    """One run each."""
    few = ["--edge-factor", 16, "--max-vertices", options.choose(4, 64)]
    scales = options.choose({16: 17, 32: 18, 64: 19, 128: 20}, {4: 10, 8: 11})
    cases = [scaling.Case("R-MAT", ranks, ["--rmat-scale", scale, *few]) for ranks, scale in scales.items()]
    return LCC.report(cases, 5, options)
