# SPDX-License-Identifier: Apache-2.0
"""One buffer for blocks that are read ahead and for ranges, against every split of it between the two."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Mapping, Sequence

from bench import plots
from bench.harness import Claim, Options, Place, Report, Row, Side, Spread, alternate, families
from bench.harness import run as run_program
from bench.workload import RANGE_BYTES, Get, mixed_sequence, write_sequence

TITLE = "one buffer for blocks and ranges, against fixed splits of it"

PROGRAMS: Mapping[str, Sequence[float]] = {
    "by turns": (0.95, 0.3, 0.95, 0.3),
    "steady, mostly small gets": (0.9,),
    "steady, half large gets": (0.5,),
}
"""Shares of small gets, phase by phase."""

BUFFER_BYTES = 4 << 20
PARTS = 8
SPLITS = range(1, PARTS)
ONE = "one buffer"


def run(options: Options) -> Report:
    """A split is two caches: its time is that of the small gets with one plus that of the large with the other.

    The gets are the same, and every get is complete before the next one, so that the two may run on their own.
    """
    length, rounds = options.choose(20000, 2000), options.rounds_or(5, 1)
    report = Report({"gets_per_phase": length, "rounds": rounds, "buffer_bytes": BUFFER_BYTES})
    report.parameters.update({"programs": {name: list(shares) for name, shares in PROGRAMS.items()}})
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        for family in families() if not options.quick else families()[-1:]:
            for name, shares in PROGRAMS.items():
                gets = mixed_sequence(1, shares, length)
                rows = _measure(Place(family, 2, "tcp"), gets, rounds, options, Path(scratch))
                report.rows += [{"program": name, **row} for row in rows]
                report.claims.append(_claim(f"{name}, {rows[0]['network']}", rows))
    report.columns = ("network", "program", "blocks_have", "seconds", "against_one", "hits_percent")
    return report


def _measure(place: Place, gets: Sequence[Get], rounds: int, options: Options, scratch: Path) -> list[Row]:
    whole = "adaptive=off,buffer_bytes={0},buffer_bytes_max={0}"
    parts = {
        ONE: (list(gets), {0: BUFFER_BYTES}),
        "small": (
            [get for get in gets if get.size < RANGE_BYTES],
            {k: BUFFER_BYTES * k // PARTS for k in SPLITS},
        ),
        "large": (
            [get for get in gets if get.size == RANGE_BYTES],
            {k: BUFFER_BYTES * (PARTS - k) // PARTS for k in SPLITS},
        ),
    }
    sides = {}
    for name, (part, sizes) in parts.items():
        arguments: list[object] = ["--sequence", write_sequence(part, scratch / name)]
        for split, size in sizes.items():
            arguments += ["--config", f"{split}:{whole.format(size)}"]
        sides[name] = partial(run_program, "get_sequence", arguments, place, Side("acquire"), timeout_s=600)
    lines: dict[tuple[str, int], list[Row]] = {}
    for name, outcomes in alternate(sides, rounds, options, str(place)).items():
        for line in (line for outcome in outcomes for line in outcome.json_lines()):
            lines.setdefault((name, int(line["config"])), []).append(line)
    one = [line["seconds"] for line in lines[ONE, 0]]
    rows = [_row(place, ONE, [lines[ONE, 0]], one)]
    rows += [_row(place, f"{k}/{PARTS}", [lines["small", k], lines["large", k]], one) for k in SPLITS]
    return rows


def _row(place: Place, blocks_have: str, parts: Sequence[Sequence[Row]], one: Sequence[float]) -> Row:
    seconds = [sum(line["seconds"] for line in round_) for round_ in zip(*parts)]
    counters = [part[-1]["counters"] for part in parts]
    hits, gets = (sum(each[name] for each in counters) for name in ("hits", "gets"))
    row: Row = {"network": str(place), "blocks_have": blocks_have}
    row.update(Spread.of(seconds).columns("seconds"))
    row.update(Spread.of_ratios(seconds, one).columns("against_one"))
    row["hits_percent"] = round(100 * hits / gets, 2)
    return row


def _claim(where: str, rows: Sequence[Row]) -> Claim:
    best = min(rows[1:], key=lambda row: row["against_one"])
    text = f"the best fixed split takes as long as one buffer, or longer ({where})"
    return Claim.at_least(text, 1.0, best["against_one"], "x", f"{best['blocks_have']} for blocks")


def plot(report: Report, path: Path) -> None:
    """Time over the split, a panel for each program and network."""
    panels = list(dict.fromkeys((row["program"], row["network"]) for row in report.rows))
    figure, axes = plots.panels(len(panels))
    for axis, key in zip(axes, panels):
        rows = [row for row in report.rows if (row["program"], row["network"]) == key]
        plots.line(axis, list(SPLITS), [Spread.in_row(row, "seconds") for row in rows[1:]], "fixed split")
        axis.axhline(rows[0]["seconds"], color="black", linestyle="--", label=ONE)
        axis.set_title(f"{key[0]}\n{key[1]}")
        axis.set_xlabel(f"share of the buffer for blocks, {PARTS}ths")
        axis.set_ylabel("completion time, s")
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
