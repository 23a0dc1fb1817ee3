# SPDX-License-Identifier: Apache-2.0
"""NWChem, quantum chemistry, as Debian packages it: unmodified, 2 ranks on Open MPI.

Its arrays are windows, through Global Arrays and ARMCI-MPI. The decks are in apps/nwchem. The time is
NWChem's own, in tenths of seconds, and its energies have to agree. ARMCI reads by atomic reads, or by gets
(`ARMCI_RMA_ATOMICITY=0`). In shared memory nearfetch can only be in the way.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Mapping, NamedTuple

from bench import ROOT, apps, modes
from bench.harness import PLAIN, BenchError, Options, Outcome, Place, Side, run_command
from bench.plots import Bars
from bench.promises import PROGRAM_RATIO
from bench.report import Claim, Interval, Report, Row, finding

TITLE = "NWChem (quantum chemistry over ARMCI-MPI), unmodified, in each mode"

SAMPLES = 9

COMMAND = "nwchem.openmpi"
DECKS = ROOT / "apps" / "nwchem"

DIGITS = 7
"""Of an energy after the point: who computes which term, and so the order of sums, differs between runs."""

GETS = MappingProxyType({"ARMCI_RMA_ATOMICITY": "0"})
"""ARMCI reads by MPI_Get and writes by MPI_Put; else by MPI_Get_accumulate with MPI_NO_OP and by
MPI_Accumulate with MPI_REPLACE."""

PROMISES = {"atomic_reads": "cached", "atomics": "relaxed"}
"""What NWChem keeps: it polls nothing by an atomic read, and its fetching atomics count tasks."""

PROMISED = "acquire, promised"


class Job(NamedTuple):
    """A deck, how ARMCI reads, and on what network."""

    deck: str
    environment: Mapping[str, str] = MappingProxyType({})
    network: str = "tcp"

    def __str__(self) -> str:
        reads = "gets" if self.environment else "atomic reads"
        return f"{self.deck}, {reads}, {self.network}"

    def sides(self) -> dict[str, Side]:
        """The modes that it is run in."""
        if self.network != "tcp":
            return {"plain": PLAIN, "acquire": Side("acquire")}
        if self.environment:
            return dict(modes.MODES)
        sides = {name: side for name, side in modes.MODES.items() if name != modes.RANGES}
        return {**sides, PROMISED: Side("acquire", PROMISES)}


def jobs(options: Options) -> list[Job]:
    """Over TCP as users start it, and with gets; in shared memory, where nearfetch can only be in the way."""
    if options.quick:
        return [Job("water_scf"), Job("water_scf", GETS)]
    return [
        *(Job(deck) for deck in ("water_dft", "water_ccsd", "benzene_scf")),
        Job("benzene_scf", GETS),
        Job("benzene_scf", network="shm"),
    ]


def is_installed() -> bool:
    """Whether NWChem can be run here."""
    return shutil.which(COMMAND) is not None


def measure(job: Job, side: Side = PLAIN, ranks: int = 2) -> apps.Result:
    """Runs NWChem in a folder of its own: it goes on from what it finds in its folder.

    Raises BenchError where it is not installed, or does not come to its end.
    """
    if not is_installed():
        raise BenchError(f"no {COMMAND} (it is not installed): apt-get install nwchem-openmpi")
    with tempfile.TemporaryDirectory(prefix="nearfetch-nwchem-") as folder:
        outcome = run_command(
            [COMMAND, DECKS / f"{job.deck}.nw"],
            Place("openmpi", ranks, job.network),
            side,
            timeout_s=600,
            more_env=job.environment,
            folder=Path(folder),
        )
    return apps.Result(_results(outcome), outcome)


def _results(outcome: Outcome) -> Row:
    """Its energies and its own time, in tenths of seconds, which begins when MPI is initialised."""
    energies = re.findall(r"Total (\S+) energy[ :=]+(-\d+\.\d+)", outcome.output)
    seconds = re.search(r"Total times +cpu: +\S+ +wall: +([\d.]+)s", outcome.output)
    if not energies or not seconds:
        raise BenchError("NWChem says nothing of an energy or of its time: see what it prints")
    return {
        "energies": {name: round(float(value), DIGITS) for name, value in energies},
        "seconds": float(seconds[1]),
    }


def run(options: Options) -> Report:
    """All modes of a job take turns; its energies have to be the same."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "ranks": 2, "digits": DIGITS})
    for job in jobs(options):
        calls = {(name, "", 0): partial(measure, job, side) for name, side in job.sides().items()}
        rows, results = apps.compare(calls, "seconds", "energies", samples, options, str(job))
        for row, runs in zip(rows, results.values()):
            report.rows.append({**row, "mode": row["strategy"], **_work(runs[-1].outcome)})
        by_mode = {row["mode"]: row for row in report.rows[-len(rows) :]}
        report.claims += _claims(job, by_mode["acquire"])
        report.findings.append(
            finding(str(job), by_mode["plain"], by_mode["acquire"], "seconds", "s", "speed_up")
        )
    report.columns = "what mode seconds speed_up hits flushes flushes_elided"
    report.pictures = [Bars(report.rows, "seconds", ["mode"], ["what"])]
    return report


def _work(outcome: Outcome) -> Row:
    """What the ranks asked for; nothing of a plain run. Most gets are of a rank's own memory, so `hits` is of
    those that were not left to MPI."""
    if not outcome.counters:
        return {"hits": "", "flushes": "", "flushes_elided": ""}
    served = outcome.total("hits") + outcome.total("pending_hits")
    looked_up = outcome.total("gets") - outcome.total("bypassed")
    return {
        "hits": round(served / looked_up, 4) if looked_up else "",
        "flushes": outcome.total("flushes"),
        "flushes_elided": outcome.total("flushes_elided"),
    }


def _claims(job: Job, acquire: Row) -> list[Claim]:
    speed_up = Interval.in_row(acquire, "speed_up")
    claims = [Claim.at_least(f"{job}: speed-up in mode acquire", PROGRAM_RATIO, speed_up, "times")]
    if job.environment:
        text = f"{job}: hits of the gets that are looked up, in mode acquire"
        claims.append(Claim.at_least(text, 94, 100 * acquire["hits"], "%"))
    return claims
