# SPDX-License-Identifier: Apache-2.0
"""Paper 004, Fig. 16 and section 6.5: the memory that each version takes, and the lines that it adds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, Sequence

from bench import ROOT, pgas, plots
from bench.harness import Claim, Options, Report, Row, alternate
from bench.lapps11_programs import BY_INDICES, HAND, NETWORK
from bench.pgas import Stage

TITLE = "LAPPS's programs: memory and lines of each version (004, Fig. 16 and section 6.5)"

SIDES = ("base", "ac", "ac-sd", "mc", "mc-sd", HAND)
RANKS = 8
OVER_HAND = {"ac": 1.04, "mc": 1.04, "ac-sd": 1.0, "mc-sd": 1.0}
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


SOURCES = (
    Source("transpose", ["--order", 1800, "--iterations", 2], ["--order", 24], ["HandOptimized"]),
    Source("heat", ["--cells", 150, "--steps", 2], ["--cells", 8], ["halo", "HandOptimized"]),
    Source("sobel", ["--rows", 5000, "--columns", 5000], [], ["with_halo", "detect_by_hand"]),
    Source("dgemm", ["--order", 768], ["--order", 24], ["rows_needed", "columns_needed", "Copy"]),
    Source("sparse", ["--log-size", 9, "--iterations", 2], ["--log-size", 4], ["Copy"], True),
)


def run(options: Options) -> Report:
    """Every version of every program, with 8 ranks in one process."""
    ranks = options.choose(RANKS, 4)
    rounds = options.rounds_or(3, 1)
    report = Report({"ranks": ranks, "network": NETWORK, "rounds": rounds})
    for source in SOURCES:
        report.rows += _rows(source, ranks, rounds, options)
    for side, most in OVER_HAND.items():
        worst = max(pgas.find(report.rows, side=side), key=lambda row: row["over_hand"])
        text = f"memory of {side}, over {HAND}"
        report.claims.append(Claim.at_most(text, most, worst["over_hand"], "times", worst["program"]))
    return report


def _rows(source: Source, ranks: int, rounds: int, options: Options) -> list[Row]:
    arguments = options.choose(source.arguments, source.quick)

    def peak_bytes(side: str) -> int:
        words = [*arguments, "--version", side, "--peak-memory"]
        return pgas.measure(source.name, words, Stage(NETWORK, "virtual"), ranks)["peak_memory_bytes"]

    calls = {side: lambda side=side: peak_bytes(side) for side in source.sides()}
    peaks = {side: min(values) for side, values in alternate(calls, rounds, options, source.name).items()}
    lines = added_lines(source)
    return [
        {
            "program": source.name,
            "side": side,
            "peak_bytes": peak,
            "over_base": round(peak / peaks["base"], 4),
            "over_hand": round(peak / peaks[HAND], 4),
            "added_lines": lines[side],
        }
        for side, peak in peaks.items()
    ]


def added_lines(source: Source) -> dict[str, int]:
    """How many lines of code each version has that base has not."""
    text = (ROOT / "apps" / "pgas" / f"{source.name}.cpp").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]
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


def plot(report: Report, path: Path) -> None:
    """The memory over base's, and the lines that a version adds."""
    figure, axes = plots.panels(2, width=6)
    names = [source.name for source in SOURCES]
    for axis, column in zip(axes, ("over_base", "added_lines")):
        for shift, side in enumerate((*SIDES[1:], *BY_INDICES)):
            rows = pgas.find(report.rows, side=side)
            at = [names.index(row["program"]) + 0.12 * shift for row in rows]
            axis.bar_label(
                axis.bar(at, [row[column] for row in rows], 0.11, label=side), fmt="%.3g", fontsize=6
            )
        axis.set_xticks([n + 0.35 for n in range(len(SOURCES))], names)
    axes[0].set_ylabel("most memory, over base")
    axes[1].set_ylabel("lines that base has not")
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
