# SPDX-License-Identifier: Apache-2.0
"""One buffer for regions that are read ahead and for ranges, against every split of it between the two.

Small gets fall into regions of 4 KiB, large ones are of 16 KiB, and the buffer has 4 MiB. A fixed split is
two caches: its time is that of the small gets with one, and of the large gets with the other. Mixed gets
are dearer for the network, so speed-ups are compared, each over the same gets without nearfetch.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Mapping, Sequence

from bench.harness import Options, Place, Side, alternate, families
from bench.harness import run as run_program
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, worst
from bench.workload import RANGE_BYTES, Get, mixed_sequence, write_sequence

TITLE = "One buffer for regions and ranges, against fixed splits of it"

SAMPLES = 7

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
    """Every get is complete before the next one, so a split's two caches may run on their own."""
    length, samples = options.choose(20000, 2000), options.samples(SAMPLES)
    report = Report({"gets_per_phase": length, "samples": samples, "buffer_bytes": BUFFER_BYTES})
    report.parameters.update({"programs": {name: list(shares) for name, shares in PROGRAMS.items()}})
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        for family in families() if not options.quick else families()[-1:]:
            for name, shares in PROGRAMS.items():
                gets = mixed_sequence(1, shares, length)
                rows = _measure(Place(family, 2, "tcp"), gets, samples, options, Path(scratch))
                report.rows += [{"program": name, **row} for row in rows]
                report.claims.append(_claim(f"{name}, {rows[0]['network']}", rows))
    report.columns = "network program regions_have seconds speed_up one_over_it hits_percent"
    shown = [
        {**row, "split": row["regions_have"] if row["regions_have"] == ONE else "fixed", "regions": regions}
        for row in report.rows
        for regions in ["" if row["regions_have"] == ONE else int(row["regions_have"][0])]
    ]
    report.pictures = [Lines(shown, "speed_up", "regions", "split", ["program", "network"])]
    return report


def _measure(place: Place, gets: Sequence[Get], samples: int, options: Options, scratch: Path) -> list[Row]:
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
            configs += ["--config", f"{split}:adaptive=off,buffer_bytes={size}"]
        at = partial(run_program, "get_sequence", place=place, timeout_s=600)
        sides[name, "cached"] = partial(at, configs, side=Side("acquire"))
        sides[name, "plain"] = partial(at, sequence)
    lines: dict[tuple[str, str], list[Row]] = {}
    for (name, side), outcomes in alternate(sides, samples, options, str(place)).items():
        for line in (line for outcome in outcomes for line in outcome.json_lines()):
            lines.setdefault((name, line["config"] if side == "cached" else side), []).append(line)
    one = _row(place, ONE, [lines[ONE, "0"]], [lines[ONE, "plain"]])
    plain = [lines[name, "plain"] for name in ("small", "large")]
    splits = [
        _row(place, f"{k}/{PARTS}", [lines["small", str(k)], lines["large", str(k)]], plain) for k in SPLITS
    ]
    for row in (one, *splits):
        ratios = Interval.of_ratios(one["each_speed_up"], row["each_speed_up"])
        row.update(ratios.columns("one_over_it"))
    return [one, *splits]


def _row(
    place: Place, regions_have: str, parts: Sequence[Sequence[Row]], plain: Sequence[Sequence[Row]]
) -> Row:
    def seconds(sides: Sequence[Sequence[Row]]) -> list[float]:
        return [sum(line["seconds"] for line in round_) for round_ in zip(*sides)]

    counters = [part[-1]["counters"] for part in parts]
    hits, gets = (sum(each[name] for each in counters) for name in ("hits", "gets"))
    row: Row = {"network": str(place), "regions_have": regions_have}
    row.update(Interval.of(seconds(parts)).columns("seconds"))
    row["each_speed_up"] = [a / b for a, b in zip(seconds(plain), seconds(parts))]
    row.update(Interval.of(row["each_speed_up"]).columns("speed_up"))
    row["hits_percent"] = round(100 * hits / gets, 2)
    return row


def _claim(where: str, rows: Sequence[Row]) -> Claim:
    splits = [(Interval.in_row(row, "one_over_it"), f"{row['regions_have']} for regions") for row in rows[1:]]
    measured, best = worst(Claim.at_least, splits)
    text = f"one buffer, over the best fixed split, which nobody knows before ({where})"
    return Claim.at_least(text, 1.0, measured, "times", best)
