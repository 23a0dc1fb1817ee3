# SPDX-License-Identifier: Apache-2.0
"""Remote array headers, and what a compiler hoists out of loops (000, Fig. 2 and section V-C).

A Chapel array is found by a header, which is at another rank if the array is. An access reads two words of
it: the elements' address and their origin. A compiler that moves invariant code out of the loop reads them
once. Copy, and the sum of computed places, with hints and without: each with headers read at every access
and hoisted, with and without the cache. 2 ranks, on modelled networks in virtual time, and MPI over TCP.
"""

from __future__ import annotations

from bench import pgas
from bench.harness import Options
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row

TITLE = "Array headers: naive and hoisted loops (000, Fig. 2 and section V-C)"

SAMPLES = 7
HEADER = ("--header-words", 2)
HOISTED = (*HEADER, "--hoist")
SIDES = {
    "naive, uncached": (*HEADER, "--no-cache"),
    "naive, cached": HEADER,
    "hoisted, uncached": (*HOISTED, "--no-cache"),
    "hoisted, cached": HOISTED,
}
COPY, UNHINTED, HINTED = "copy", "prefetch, no hints", "prefetch, hints"
PROGRAMS = {
    COPY: ("copy", ()),
    UNHINTED: ("prefetch", ("--distance", 0)),
    HINTED: ("prefetch", ("--distance", "auto")),
}
TOTAL = {"aries": 4, "fdr-ib": 10, "10gbe": 10, "1gbe": 10}
"""How many times faster cache and hints together make a loop that reads headers."""


def run(options: Options) -> Report:
    """All sides of all programs on every network; the sides take turns."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "header_words": 2}, columns=pgas.COLUMNS)
    few = ["--accesses", 3000, "--elements", 100_000]
    for stage in pgas.stages(options, wall=False):
        for name, (program, words) in PROGRAMS.items():
            less = few if program == "prefetch" and (options.quick or stage.time == "mpi") else []
            arguments = [*less, *words]
            rows = pgas.compare(
                program, arguments, stage, samples, options, sides=SIDES, base="naive, uncached"
            )
            report.rows += [{**row, "program": name} for row in rows]
    report.findings = pgas.findings(report.rows, base="naive, uncached")
    report.claims = _claims(report.rows)
    shown = [row for row in report.rows if row["side"] != "naive, uncached"]
    report.pictures = [Bars(shown, "speed_up", ["network", "side"], ["program"], log="x")]
    return report


def _claims(rows: list[Row]) -> list[Claim]:
    claims = []
    for network, row in pgas.modelled(pgas.find(rows, side="naive, cached")):
        if row["program"] == UNHINTED:
            claims.append(pgas.speed_up_claim(row, 2))
        if row["program"] == HINTED:
            claims.append(pgas.speed_up_claim(row, TOTAL[network]))
    for row in pgas.find(rows, side="hoisted, cached"):
        there = {"program": row["program"], "network": row["network"]}
        (plain,) = pgas.find(rows, side="hoisted, uncached", **there)
        text = f"{row['program']} on {row['network']}, hoisted: cached over uncached"
        ratio = Interval.of_ratios(plain["each_seconds"], row["each_seconds"])
        # Without hints a hoisted loop at computed places has nothing to gain, and pays for whole lines.
        least = 0.9 if row["program"] == UNHINTED else 1
        claims.append(Claim.at_least(text, least, ratio, "times faster"))
    return claims
