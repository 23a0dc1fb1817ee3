# SPDX-License-Identifier: Apache-2.0
"""Copy, random gets and random puts, element by element, with and without the page cache (000, Fig. 1).

2 ranks, on networks modelled after the paper's Table I: in virtual time, where every run gives the same,
and on the wall's clock, where the software's own time counts. Also MPI over TCP. Without the cache each
get and put is a message. What a modelled network can do at most bounds the random puts.
"""

from __future__ import annotations

from bench import pgas
from bench.harness import Options
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row, calibrated

TITLE = "Copy, random gets and random puts (000, Fig. 1)"

SAMPLES = 7
PROGRAMS = ("copy", "rand_gets", "rand_puts")
COPY = {"aries": 50, "fdr-ib": 100, "10gbe": 400, "1gbe": 400}
"""How many times faster copy has to be."""
GETS = ("1gbe", "aries")
GETS_SLOWER_PERCENT = 10
"""How much slower random gets may be on these networks: 000 says so of both (V-A)."""
PUTS = 3
"""How many times faster random puts have to be."""


def run(options: Options) -> Report:
    """Every program on every network; both sides take turns."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples}, columns=pgas.COLUMNS)
    accesses = options.choose([], ["--accesses", 2000, "--elements", 100_000])
    for stage in pgas.stages(options):
        for program in PROGRAMS:
            # A real network takes its real time.
            few = options.choose(["--accesses", 5000], accesses) if stage.time == "mpi" else accesses
            arguments = [] if program == "copy" else few
            report.rows += pgas.compare(program, arguments, stage, samples, options)
    modelled = [row for row in report.rows if row["program"] == "rand_puts" and row["time"] != "mpi"]
    report.findings = pgas.findings([row for row in report.rows if row not in modelled])
    report.findings += calibrated(pgas.findings(modelled))
    report.claims = [*_copy(report.rows), *_gets(report.rows), *_puts(report.rows)]
    cached = pgas.find(report.rows, side="cached")
    report.pictures = [Bars(cached, "speed_up", ["network"], ["program"], log="x")]
    return report


def _copy(rows: list[Row]) -> list[Claim]:
    cached = pgas.find(rows, program="copy", side="cached")
    claims = [pgas.speed_up_claim(row, COPY[network]) for network, row in pgas.modelled(cached)]
    for kind in ("get", "put"):
        most = max(cached, key=lambda row: row[f"{kind}_messages"])
        text = f"copy of 10,000 elements: {kind.upper()} messages"
        claims.append(Claim.at_most(text, 40, most[f"{kind}_messages"], "", most["network"]))
    for row in cached:
        if row["time"] == "virtual":
            ratio = row["waited_seconds"] / row["bound_seconds"]
            detail = f"{row['waited_seconds']:.4g} s"
            text = f"copy on {row['network']}: waits, over the network's bound"
            claims.append(Claim.at_most(text, 2, ratio, "", detail))
    return claims


def _gets(rows: list[Row]) -> list[Claim]:
    claims = []
    for network, row in pgas.modelled(pgas.find(rows, program="rand_gets", side="cached")):
        if network not in GETS:
            continue
        speed_up = Interval.in_row(row, "speed_up")
        slower = Interval(*(100 * (1 / x - 1) for x in (speed_up.median, speed_up.high, speed_up.low)))
        text = f"rand_gets on {row['network']}: slower by"
        claims.append(Claim.at_most(text, GETS_SLOWER_PERCENT, slower, "%"))
    return claims


def _puts(rows: list[Row]) -> list[Claim]:
    claims = []
    for _, row in pgas.modelled(pgas.find(rows, program="rand_puts", side="cached")):
        claims += calibrated([pgas.speed_up_claim(row, PUTS)])
        if row["time"] == "virtual":
            # What the network can do at most decides whether that is to be had.
            text = f"rand_puts on {row['network']}: over the network's bound"
            claims.append(
                Claim.at_most(text, 1.05, Interval.in_row(row, "seconds").times(1 / row["bound_seconds"]))
            )
    return claims
