# SPDX-License-Identifier: Apache-2.0
"""What a benchmark hands back: intervals, claims and findings; and the JSON that they end up in."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import subprocess
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence, TypeVar, Union

from bench import ROOT
from nearfetch import NearfetchError
from nearfetch.families import FAMILIES
from nearfetch.mpiexec import launcher_of

Row = dict[str, Any]

CONFIDENCE = 0.95
FEWEST_SAMPLES = 6
"""Fewer values have no interval for their median of that confidence."""


class Interval(NamedTuple):
    """A median with its 95 % confidence interval; low and high are equal where a value is exact."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """From one of the values to another, by order statistics: nothing is assumed of their distribution.

        Of fewer than FEWEST_SAMPLES values it goes from the least to the greatest.
        """
        ordered = sorted(values)
        outside = _outside(len(ordered))
        return cls(statistics.median(ordered), ordered[outside], ordered[-1 - outside])

    @classmethod
    def exactly(cls, value: float) -> Interval:
        """Of what is the same in every run."""
        return cls(value, value, value)

    @classmethod
    def of_ratios(cls, numerators: Sequence[float], denominators: Sequence[float]) -> Interval:
        """Of the ratios of what was measured side by side."""
        return cls.of([a / b for a, b in zip(numerators, denominators) if b])

    @classmethod
    def in_row(cls, row: Row, name: str) -> Interval:
        """What `columns(name)` put into a row."""
        return cls(row[name], row[f"{name}_low"], row[f"{name}_high"])

    def columns(self, name: str) -> Row:
        """As columns of a row."""
        short = self.short()
        return {name: short.median, f"{name}_low": short.low, f"{name}_high": short.high}

    def times(self, factor: float) -> Interval:
        """In another unit."""
        return Interval(*(factor * value for value in self))

    def short(self) -> Interval:
        """Of five significant digits: more would only pretend."""
        return Interval(*(float(f"{value:.5g}") for value in self))


def _outside(count: int) -> int:
    """How many of `count` values may lie below an interval, and as many above it: of a coin's throws."""
    outside, chance = -1, 0.0
    while chance <= 1 - CONFIDENCE:
        outside += 1
        chance += 2 * math.comb(count, outside) / 2**count
    return max(outside - 1, 0)


Measured = Union[float, Interval]
"""A number is exact."""


@dataclass
class Claim:
    """A figure to reach, and what was measured. It holds where all of the interval reaches it."""

    text: str
    target: str
    measured: Interval
    holds: bool
    detail: str = ""
    """Where the measured value comes from, for example the worst pair."""
    calibrated: bool = False
    """See CALIBRATED."""

    @classmethod
    def at_most(cls, text: str, limit: float, measured: Measured, unit: str = "", detail: str = "") -> Claim:
        """A figure that must not exceed `limit`."""
        found = _interval(measured)
        return cls(text, f"<= {limit:g} {unit}".rstrip(), found.short(), found.high <= limit, detail)

    @classmethod
    def at_least(cls, text: str, limit: float, measured: Measured, unit: str = "", detail: str = "") -> Claim:
        """A figure that must reach `limit`."""
        found = _interval(measured)
        return cls(text, f">= {limit:g} {unit}".rstrip(), found.short(), found.low >= limit, detail)


def _interval(measured: Measured) -> Interval:
    return measured if isinstance(measured, Interval) else Interval.exactly(measured)


@dataclass
class Finding:
    """A row of docs/results.md: something without what nearfetch does, and with it."""

    what: str
    without: Interval
    measured: Interval
    unit: str
    """`s`, `ns`, `%`, or what is counted."""
    factor: Interval
    """How many times better it is, formed pair by pair."""
    calibrated: bool = False
    """See CALIBRATED."""


CALIBRATED = "The model's gap between messages is calibrated on what the paper has of this: no result."
"""Of claims and findings."""
ClaimOrFinding = TypeVar("ClaimOrFinding", Claim, Finding)


def calibrated(found: Sequence[ClaimOrFinding]) -> list[ClaimOrFinding]:
    """The same, marked as calibrated."""
    return [replace(each, calibrated=True) for each in found]


def finding(what: str, without: Row, row: Row, column: str, unit: str, factor: str) -> Finding:
    """What two rows have in a column, and the second in the column `factor`."""
    sides = (Interval.in_row(each, column) for each in (without, row))
    return Finding(what, *sides, unit, Interval.in_row(row, factor))


def beside_plain(what: str, row: Row) -> Finding:
    """What a row has of a get, call or program without nearfetch and with it."""
    sides = (Interval.in_row(row, column) for column in ("plain_ns", "nearfetch_ns"))
    return Finding(what, *sides, "ns", Interval.in_row(row, "ratio"))


@dataclass
class Report:
    """What a benchmark hands back."""

    parameters: dict[str, Any] = field(default_factory=dict)
    """Everything that was chosen; `samples` is how often each side was measured, if not once."""
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    pictures: list[Any] = field(default_factory=list)
    """What bench.plots draws of the rows."""
    columns: str = ""
    """The columns of `rows` that are printed; empty: all of them."""

    def to_json(self, name: str, quick: bool, seconds: float) -> dict[str, Any]:
        """The document that `./nf bench NAME --json FILE` writes; the whole run took `seconds`."""
        return {
            "name": name,
            "command": f"./nf bench {name}" + (" --quick" if quick else ""),
            "quick": quick,
            "commit": commit(),
            "machine": machine(),
            "seconds": round(seconds, 3),
            "samples": self.parameters.get("samples", 1),
            "parameters": self.parameters,
            "findings": [asdict(each) for each in self.findings],
            "claims": [asdict(claim) for claim in self.claims],
            "rows": self.rows,
        }


def worst(make: Callable[..., Claim], values: Sequence[tuple[Interval, str]]) -> tuple[Interval, str]:
    """Of values and what they are of: the one that is farthest from what Claim.at_most or at_least wants."""
    if make == Claim.at_most:
        return max(values, key=lambda each: each[0].high)
    return min(values, key=lambda each: each[0].low)


def commit() -> str:
    """The commit that is measured; it ends in -changed where the tree differs from it, but for results."""
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if not (ROOT / ".git").exists() or known.returncode != 0:
        return "unknown"
    others = ["--", ".", ":!docs/results", ":!docs/results.md", ":!docs/papers.md"]
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", *others], check=False).returncode != 0
    return known.stdout.strip() + ("-changed" if changed else "")


def machine() -> dict[str, Any]:
    """What the figures depend on; nothing that names the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = re.findall(r"model name\s*:\s*(.*)", info.read_text())
        cpu = models[0] if models else cpu
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory_bytes / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "mpi": {FAMILIES[family].title: _mpi_version(family) for family in ("openmpi", "mpich")},
    }


def _mpi_version(family: str) -> str:
    """What the family's launcher says; `none` where there is none."""
    try:
        words = [launcher_of(family, os.environ), "--version"]
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout
    except (NearfetchError, OSError, subprocess.TimeoutExpired):
        return "none"
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else "unknown"
