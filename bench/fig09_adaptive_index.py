# SPDX-License-Identifier: Apache-2.0
"""Time and hits of the paper's micro-workload over the index size at the start (001, Fig. 9).

The workload draws 20,000 gets of 1 B to 64 KiB from 1,000 different ones. A fixed index that is small has
many conflicting misses. An adaptive one grows. Ours keeps the entries when it grows, and is compared with
the paper's own algorithm (as-001), which invalidates. Hits and conflicts are exact counts. Claims are
about the adaptive index. Configurations take turns within one process, and processes without nearfetch
take turns with these.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from bench.harness import ACCESS_TYPES, AS_001, CACHED, Options, Place, alternate, families
from bench.harness import run as run_program
from bench.plots import Lines
from bench.range_caches import joined
from bench.report import Claim, Interval, Report, Row
from bench.workload import paper_sequence, write_sequence

TITLE = "Adaptive and fixed index, over its size at the start (001, Fig. 9)"

FIXED, ADAPTIVE = "fixed", "adaptive"
PAPER = "fixed, as-001", "adaptive, as-001"
STRATEGIES = {
    FIXED: {"adaptive": "off"},
    ADAPTIVE: {"adaptive": "on"},
    PAPER[0]: {"adaptive": "off", **AS_001},
    PAPER[1]: {"adaptive": "on", **AS_001},
}
SAMPLES = 7


def run(options: Options) -> Report:
    """All strategies, over all sizes, on each MPI library."""
    entries = options.choose([200, 400, 700, 1000, 1500, 2000, 4000], [200, 1000, 4000])
    length, samples = options.choose(20000, 2000), options.samples(SAMPLES)
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": entries, "samples": samples})
    report.parameters.update({"strategies": STRATEGIES, "buffer_bytes": "32MiB", "ranks": 2, "seed": 1})
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        sequence = write_sequence(paper_sequence(1, length), Path(scratch) / "sequence")
        for family in families() if not options.quick else families()[-1:]:
            report.rows += _measure(Place(family, 2, "tcp"), sequence, entries, samples, options)
    report.columns = "network strategy index_entries seconds plain_seconds hits conflicting"
    for network in dict.fromkeys(row["network"] for row in report.rows):
        here = [row for row in report.rows if row["network"] == network]
        report.claims += _claims(
            network, {(row["strategy"], row["index_entries"]): row for row in here}, length
        )
    report.pictures = [
        Lines(report.rows, y, "index_entries", "strategy", ["network"], log="x") for y in ("seconds", "hits")
    ]
    return report


def _claims(network: str, rows: dict[tuple[str, int], Row], gets: int) -> list[Claim]:
    """Each about the worst size at the start; times about the smallest."""
    entries = [count for strategy, count in rows if strategy == ADAPTIVE]
    conflicts, most = max((100 * rows[ADAPTIVE, n]["conflicting"] / gets, n) for n in entries)
    faster = Interval.of_ratios(
        *(rows[strategy, entries[0]]["each_seconds"] for strategy in (FIXED, ADAPTIVE))
    )
    claims = [
        Claim.at_most(
            f"{network}: conflicting misses", 10, conflicts, "% of the gets", f"from {most} entries"
        ),
        Claim.at_least(f"{network}: faster than fixed", 1, faster, "times", f"from {entries[0]} entries"),
    ]
    for other in (FIXED, *PAPER):
        more, least = min((rows[ADAPTIVE, n]["hits"] - rows[other, n]["hits"], n) for n in entries)
        text = f"{network}: hits more than {other}"
        claims.append(Claim.at_least(text, 0, more, "hits", f"from {least} entries"))
    return claims


def _measure(place: Place, sequence: Path, entries: list[int], samples: int, options: Options) -> list[Row]:
    arguments: list[object] = ["--sequence", sequence]
    configs = [f"{name}@{count}" for name in STRATEGIES for count in entries]
    cached = list(arguments)
    for config in configs:
        name, count = config.split("@")
        settings = {"bypass": "off", "read_ahead_bytes": 0, "index_entries": count, **STRATEGIES[name]}
        cached += ["--config", f"{config}:{joined(settings)}"]
    at = partial(run_program, "get_sequence", place=place, timeout_s=600)
    sides = {"plain": partial(at, arguments), "nearfetch": partial(at, cached, side=CACHED)}
    runs: dict[str, list[Row]] = {config: [] for config in (*configs, "plain")}
    for outcomes in alternate(sides, samples, options, str(place)).values():
        for line in (line for outcome in outcomes for line in outcome.json_lines()):
            runs[line["config"]].append(line)
    plain = [line["seconds"] for line in runs["plain"]]
    rows = []
    for config in configs:
        name, count = config.split("@")
        seconds = [line["seconds"] for line in runs[config]]
        row: Row = {"network": str(place), "strategy": name, "index_entries": int(count)}
        row.update(Interval.of(seconds).columns("seconds"))
        row["each_seconds"] = seconds
        row.update(Interval.of(plain).columns("plain_seconds"))
        row.update(Interval.of_ratios(plain, seconds).columns("speed_up"))
        row.update({key: runs[config][-1]["counters"][key] for key in (*ACCESS_TYPES, "index_resizes")})
        rows.append(row)
    return rows
