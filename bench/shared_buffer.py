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
    """A split is two caches: its time is that of the small gets with one and of the large with the other.

    Every get is complete before the next one, so the two may run on their own. What mixing them costs the
    network is in the plain times, too: so speed-ups are compared, each over the same runs without nearfetch.
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
    report.columns = (
        "network",
        "program",
        "blocks_have",
        "seconds",
        "speed_up",
        "one_over_it",
        "hits_percent",
    )
    return report


def _measure(place: Place, gets: Sequence[Get], rounds: int, options: Options, scratch: Path) -> list[Row]:
    eighth = BUFFER_BYTES // PARTS
    parts = {
        ONE: (list(gets), {0: BUFFER_BYTES}),
        "small": ([get for get in gets if get.size < RANGE_BYTES], {k: eighth * k for k in SPLITS}),
        "large": (
            [get for get in gets if get.size == RANGE_BYTES],
            {k: eighth * (PARTS - k) for k in SPLITS},
        ),
    }
    sides = {}
    for name, (part, sizes) in parts.items():
        sequence: list[object] = ["--sequence", write_sequence(part, scratch / name)]
        configs = list(sequence)
        for split, size in sizes.items():
            configs += ["--config", f"{split}:adaptive=off,buffer_bytes={size},buffer_bytes_max={size}"]
        at = partial(run_program, "get_sequence", place=place, timeout_s=600)
        sides[name, "cached"] = partial(at, configs, side=Side("acquire"))
        sides[name, "plain"] = partial(at, sequence)
    lines: dict[tuple[str, str], list[Row]] = {}
    for (name, side), outcomes in alternate(sides, rounds, options, str(place)).items():
        for line in (line for outcome in outcomes for line in outcome.json_lines()):
            lines.setdefault((name, line["config"] if side == "cached" else side), []).append(line)
    one = _row(place, ONE, [lines[ONE, "0"]], [lines[ONE, "plain"]])
    plain = [lines[name, "plain"] for name in ("small", "large")]
    splits = [
        _row(place, f"{k}/{PARTS}", [lines["small", str(k)], lines["large", str(k)]], plain) for k in SPLITS
    ]
    for row in (one, *splits):
        row["one_over_it"] = round(one["speed_up"] / row["speed_up"], 3)
    return [one, *splits]


def _row(
    place: Place, blocks_have: str, parts: Sequence[Sequence[Row]], plain: Sequence[Sequence[Row]]
) -> Row:
    def seconds(sides: Sequence[Sequence[Row]]) -> list[float]:
        return [sum(line["seconds"] for line in round_) for round_ in zip(*sides)]

    counters = [part[-1]["counters"] for part in parts]
    hits, gets = (sum(each[name] for each in counters) for name in ("hits", "gets"))
    row: Row = {"network": str(place), "blocks_have": blocks_have}
    row.update(Spread.of(seconds(parts)).columns("seconds"))
    row.update(Spread.of_ratios(seconds(plain), seconds(parts)).columns("speed_up"))
    row["hits_percent"] = round(100 * hits / gets, 2)
    return row


def _claim(where: str, rows: Sequence[Row]) -> Claim:
    best = min(rows[1:], key=lambda row: row["one_over_it"])
    text = f"one buffer is as fast as the best fixed split, which nobody knows before ({where})"
    return Claim.at_least(text, 1.0, best["one_over_it"], "x", f"{best['blocks_have']} for blocks")


def plot(report: Report, path: Path) -> None:
    """The speed-up over the split, a panel for each program and network."""
    panels = list(dict.fromkeys((row["program"], row["network"]) for row in report.rows))
    figure, axes = plots.panels(len(panels))
    for axis, key in zip(axes, panels):
        rows = [row for row in report.rows if (row["program"], row["network"]) == key]
        spreads = [Spread.in_row(row, "speed_up") for row in rows]
        plots.line(axis, list(SPLITS), spreads[1:], "fixed split")
        axis.axhline(spreads[0].median, color="black", linestyle="--", label=ONE)
        axis.set_title("\n".join(key))
        axis.set_xlabel(f"share of the buffer for blocks, {PARTS}ths")
        axis.set_ylabel("speed-up over plain")
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
