# SPDX-License-Identifier: Apache-2.0
"""PTRANS, SSCA2's kernel 4 and miniMD, with and without the page cache; PTRANS to 256 ranks (000, Fig. 3).

8 ranks on modelled networks in virtual time, 2 on MPI over TCP. SSCA2 also with relaxed atomics. PTRANS
also with the same work for each of 1 to 256 ranks. miniMD has size 10, and size 4 over TCP; in virtual time
30 ns of computation are charged for each pair of neighbours.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from bench import pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Bars, Lines
from bench.report import Claim, Interval, Report, Row

TITLE = "PTRANS, SSCA2 kernel 4 and miniMD (000, Fig. 3)"

SAMPLES = 7

RANKS = 8
SSCA2: Mapping[str, Sequence[object]] = {
    "uncached": ("--no-cache",),
    "cached": (),
    "cached, relaxed": ("--atomics", "relaxed"),
}
FASTER = {
    ("ptrans", "cached"): 2,
    ("ssca2", "cached"): 1,
    ("ssca2", "cached, relaxed"): 1.05,
    ("minimd", "cached"): 3,
}
"""How many times faster they have to be, on every network, real ones included."""
MINIMD_STEPS = 5
OWN_ELEMENTS = 2500
"""Of each rank, where the number of ranks grows."""


def run(options: Options) -> Report:
    """All programs on every network; the sides take turns. Weak scaling in virtual time."""
    samples = options.samples(SAMPLES)
    ranks = options.choose(RANKS, 4)
    rows = options.choose(500, 60)
    report = Report({"samples": samples, "own_elements": OWN_ELEMENTS}, columns=pgas.COLUMNS)
    sources = options.choose([], ["--sources", 4])
    for stage in pgas.stages(options, wall=False):
        where = 2 if stage.time == "mpi" else ranks
        few = ["--sources", 4] if stage.time == "mpi" else sources
        report.rows += pgas.compare("ptrans", ["--rows", rows], stage, samples, options, where)
        report.rows += pgas.compare("ssca2", few, stage, samples, options, where, SSCA2)
        size = 4 if stage.time == "mpi" else options.choose(10, 3)
        atoms = ["--size", size, "--steps", MINIMD_STEPS, "--work-ns", 30]
        report.rows += pgas.compare("minimd", atoms, stage, samples, options, where)
    counts = options.choose([1, 4, 16, 64, 256], [1, 4])
    weak: list[Row] = []
    for network in options.choose(("aries", "1gbe"), ("aries",)):
        for count in counts:
            arguments = ["--own-elements", options.choose(OWN_ELEMENTS, 100)]
            weak += pgas.compare("ptrans", arguments, Stage(network, "virtual"), 1, options, count)
    report.rows += [{**row, "program": "ptrans, weak"} for row in weak]
    report.findings = pgas.findings(report.rows)
    report.claims = _claims(report.rows, counts[-1])
    shown = [row for row in report.rows if row["side"] != "uncached" and row["program"] != "ptrans, weak"]
    report.pictures = [
        Bars(shown, "speed_up", ["network", "side"], ["program"]),
        Lines(weak, "seconds", "ranks", "side", ["network"], log="xy"),
    ]
    return report


def _claims(rows: list[Row], most_ranks: int) -> list[Claim]:
    claims = [
        pgas.speed_up_claim(row, target)
        for (program, side), target in FASTER.items()
        for row in pgas.find(rows, program=program, side=side)
    ]
    largest = pgas.find(rows, program="ptrans, weak", ranks=most_ranks, side="cached")
    for row in largest:
        text = f"ptrans with {most_ranks} ranks on {row['network']}"
        claims.append(
            Claim.at_least(
                text, 2, Interval.in_row(row, "speed_up"), "times faster", f"{row['seconds']:.4g} s"
            )
        )
    return claims
