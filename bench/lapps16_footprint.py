# SPDX-License-Identifier: Apache-2.0
"""LAPPS's programs: the most memory that each version takes, and the lines that it adds (004, Fig. 16).

8 ranks in one process, at the paper's sizes for one iteration, or two of the sparse product. DGEMM has half
of the paper's order, and the sparse matrix a quarter of its rows, because base reads them one by one for
minutes. Memory is what the system counts for the process at its peak: the least of the samples. Lines are
the calls of patterns and updates. By hand they are the definitions of its own, without blank lines and
comments: what base uses, too, does not count.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

from bench import ROOT, pgas
from bench.harness import Options, alternate
from bench.pgas import Stage
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row, worst
from bench.versions import BY_INDICES, HAND, NETWORK

TITLE = "LAPPS's programs: memory and lines of each version (004, Fig. 16 and section 6.5)"

SAMPLES = 6

SIDES = ("base", "ac", "ac-sd", "mc", "mc-sd", HAND)
RANKS = 8
OVER_HAND = {"ac": 1.04, "mc": 1.04, "ac-sd": 1.01, "mc-sd": 1.01}
"""The most memory that the prefetched versions may take, over what the hand-optimised one takes."""


class Source(NamedTuple):
    """A program, at a size where its arrays are most of what it takes, and what in it is done by hand."""

    name: str
    arguments: Sequence[object]
    quick: Sequence[object]
    by_hand: Sequence[str]
    """The definitions that the hand-optimised version needs and base does not."""
    by_indices: bool = False
    """There are versions for indices that are data."""

    def sides(self) -> tuple[str, ...]:
        """Its versions."""
        return (*SIDES, *BY_INDICES) if self.by_indices else SIDES


PADDED = ("PaddedBlock", "run_by_hand")
"""Blocks with ghosts, and the run that has them in place of arrays."""
SOURCES = (
    Source("transpose", ["--order", 8192, "--iterations", 1], ["--order", 24], ["HandOptimized"]),
    Source("heat", ["--cells", 400, "--steps", 1], ["--cells", 8], [*PADDED, "diffuse_by_hand"]),
    Source("sobel", ["--rows", 20000, "--columns", 20000], [], [*PADDED, "detect_by_hand"]),
    Source("dgemm", ["--order", 2048], ["--order", 24], ["Copy"]),
    Source("sparse", ["--log-size", 9, "--iterations", 2], ["--log-size", 4], ["Copy"], True),
)


def run(options: Options) -> Report:
    """Every version of every program, with 8 ranks in one process."""
    ranks = options.choose(RANKS, 4)
    samples = options.samples(SAMPLES)
    report = Report({"ranks": ranks, "network": NETWORK, "samples": samples})
    report.columns = "program side peak_bytes over_base over_hand added_lines"
    for source in SOURCES:
        report.rows += _rows(source, ranks, samples, options)
    for side, most in OVER_HAND.items():
        chosen = [
            (Interval.in_row(row, "over_hand"), row["program"]) for row in pgas.find(report.rows, side=side)
        ]
        measured, name = worst(Claim.at_most, chosen)
        text = f"memory of {side}, over {HAND}, the worst program"
        report.claims.append(Claim.at_most(text, most, measured, "times", name))
    for source in SOURCES:
        lines = {row["side"]: row["added_lines"] for row in pgas.find(report.rows, program=source.name)}
        for side in ("ac", "mc"):
            text = f"{source.name}: lines that {side} adds"
            report.claims.append(Claim.at_most(text, 4, lines[side], "lines", f"{lines[HAND]} by hand"))
    report.pictures = [Bars(report.rows, y, ["side"], ["program"]) for y in ("over_base", "added_lines")]
    return report


def _rows(source: Source, ranks: int, samples: int, options: Options) -> list[Row]:
    arguments = options.choose(source.arguments, source.quick)

    def peak_bytes(side: str) -> int:
        words = [*arguments, "--version", side, "--peak-memory"]
        return pgas.measure(source.name, words, Stage(NETWORK, "virtual"), ranks)["peak_memory_bytes"]

    calls = {side: lambda side=side: peak_bytes(side) for side in source.sides()}
    peaks = alternate(calls, samples, options, source.name)
    lines = added_lines(source)
    return [
        {
            "program": source.name,
            "side": side,
            **Interval.of(peak).columns("peak_bytes"),
            **Interval.of_ratios(peak, peaks["base"]).columns("over_base"),
            **Interval.of_ratios(peak, peaks[HAND]).columns("over_hand"),
            "added_lines": lines[side],
        }
        for side, peak in peaks.items()
    ]


def added_lines(source: Source) -> dict[str, int]:
    """How many lines of code each version has that base has not."""
    files = (f"{source.name}.cpp", *(["padded.hpp"] if "PaddedBlock" in source.by_hand else []))
    texts = [(ROOT / "apps" / "pgas" / name).read_text(encoding="utf-8") for name in files]
    code = [
        line
        for text in texts
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith("//")
    ]
    learned = sum(bool(re.search(r"\.(observe|prefetch_observed)\(", line)) for line in code)
    patterns = sum(bool(re.search(r"(\.|->)prefetch_(?!observed)\w+\(", line)) for line in code)
    updates = sum("update_prefetch(" in line for line in code)
    lines = {"base": 0, "ac": patterns, "ac-sd": patterns}
    lines.update({"mc": patterns + updates, "mc-sd": patterns + updates})
    lines["observed"] = learned
    if source.by_indices:
        lines["gather"] = sum(bool(re.search(r"\bnear_[^;]", line)) for line in code)
    lines[HAND] = sum(_definition_lines(code, name) for name in source.by_hand)
    return lines


def _definition_lines(code: Sequence[str], name: str) -> int:
    """Of a definition at the outermost level: it ends where a line begins with a brace."""
    begins = [n for n, line in enumerate(code) if re.match(rf"\S.*\b{name}\b.*{{$", line)]
    if len(begins) != 1:
        raise LookupError(f"{name}: {len(begins)} definitions")
    return next(n for n in range(begins[0], len(code)) if code[n].startswith("}")) - begins[0] + 1
