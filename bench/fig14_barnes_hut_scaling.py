# SPDX-License-Identifier: Apache-2.0
"""Barnes-Hut: weak scaling, the force time of a body with 16 to 256 ranks (001, Fig. 14).

The ranks are SimGrid's, one on a node of a Cray XC like Piz Daint (docs/smpi.md). Times are virtual and
exact. The paper's caption has 1,500 bodies a rank, its text 8,000: both are here. The tree is of all bodies.
Forces are computed on the first 12 bodies of each rank, because a get takes some 30 us to simulate. So the
cache is colder than in the paper. `infinite cache` is how cold: the plain program's time without the gets
that a rank repeats. `ideal cache` has lookups and copies that take time. Read-ahead can beat both. The
program's own cache ("native") has as many bytes as ours, |S_w| = 2 MB; |I_w| = 30K.

The paper ends at 128 ranks. 256 ranks with 1,500 bodies each take 6 GB. Each rank has a count of the bodies
in each of 2^18 regions. So 1,024 ranks take more than 13 GB even with 150 bodies each. Such a run had not
ended after four minutes of the processor's time.
"""

from __future__ import annotations

from bench import scaling
from bench.harness import Options
from bench.report import Report

TITLE = "Barnes-Hut: weak scaling with 16 to 256 ranks, in virtual time (001, Fig. 14)"

BARNES_HUT = scaling.Scaling(
    program="barnes_hut",
    value="force_seconds_per_body",
    same="checksum",
    mode="user-defined",
    settings={"buffer_bytes": "2MiB", "index_entries": 30000},
    first_gets=scaling.BARNES_HUT_FIRST_GETS,
    native=["--cache", "block", "--cache-bytes", "2MiB"],
)


def run(options: Options) -> Report:
    """One run each."""
    computed = options.choose(12, 4)
    cases = [
        scaling.Case(f"{bodies} bodies a rank", count, ["--bodies", bodies * count, "--max-bodies", computed])
        for bodies, most in options.choose({1500: 256, 8000: 128}, {100: 8}).items()
        for count in options.choose((16, 32, 64, 128, 256), (4, 8))
        if count <= most
    ]
    return BARNES_HUT.report(cases, 5, options)
