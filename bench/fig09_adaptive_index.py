# SPDX-License-Identifier: Apache-2.0
"""Fig. 9: time and hits of the micro-workload over the index size at the start, fixed and adaptive."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from bench import plots
from bench.harness import ACCESS_TYPES, CACHED, Options, Place, Report, Row, Spread, alternate, families
from bench.harness import run as run_program
from bench.workload import paper_sequence, write_sequence

TITLE = "adaptive against fixed over the index size (Fig. 9)"

AS_PAPER = "policy=clampi,exact_match=on,weak_admission=on,keep_on_resize=off"
STRATEGIES = {
    "fixed": "adaptive=off",
    "adaptive": "adaptive=on",
    "fixed, as 001": f"adaptive=off,{AS_PAPER}",
    "adaptive, as 001": f"adaptive=on,{AS_PAPER}",
}


def run(options: Options) -> Report:
    """All configurations take turns inside one process; plain processes take turns with these."""
    entries = options.choose([100, 200, 400, 700, 1000, 1500, 2000, 4000], [100, 1000, 4000])
    length, rounds = options.choose(20000, 2000), options.rounds_or(3, 1)
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": entries, "rounds": rounds})
    report.parameters.update({"strategies": STRATEGIES, "buffer_bytes": "32MiB", "ranks": 2, "seed": 1})
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        sequence = write_sequence(paper_sequence(1, length), Path(scratch) / "sequence")
        for family in families() if not options.quick else families()[-1:]:
            report.rows += _measure(Place(family, 2, "tcp"), sequence, entries, rounds, options)
    report.columns = (
        "network",
        "strategy",
        "index_entries",
        "seconds",
        "plain_seconds",
        "hits",
        "conflicting",
    )
    return report


def _measure(place: Place, sequence: Path, entries: list[int], rounds: int, options: Options) -> list[Row]:
    arguments: list[object] = ["--sequence", sequence]
    configs = [f"{name}@{count}" for name in STRATEGIES for count in entries]
    cached = list(arguments)
    for config in configs:
        name, count = config.split("@")
        settings = f"bypass=off,read_ahead_bytes=0,index_entries={count},{STRATEGIES[name]}"
        cached += ["--config", f"{config}:{settings}"]
    at = partial(run_program, "get_sequence", place=place, timeout_s=600)
    sides = {"plain": partial(at, arguments), "nearfetch": partial(at, cached, side=CACHED)}
    runs: dict[str, list[Row]] = {config: [] for config in (*configs, "plain")}
    for outcomes in alternate(sides, rounds, options, str(place)).values():
        for line in (line for outcome in outcomes for line in outcome.json_lines()):
            runs[line["config"]].append(line)
    plain = [line["seconds"] for line in runs["plain"]]
    rows = []
    for config in configs:
        name, count = config.split("@")
        seconds = [line["seconds"] for line in runs[config]]
        row: Row = {"network": str(place), "strategy": name, "index_entries": int(count)}
        row.update(Spread.of(seconds).columns("seconds"))
        row.update(Spread.of(plain).columns("plain_seconds"))
        row.update(Spread.of_ratios(plain, seconds).columns("speed_up"))
        row.update({key: runs[config][-1]["counters"][key] for key in (*ACCESS_TYPES, "index_resizes")})
        rows.append(row)
    return rows


def plot(report: Report, path: Path) -> None:
    """Time and hits, one pair of panels per MPI library."""
    networks = list(dict.fromkeys(row["network"] for row in report.rows))
    figure, axes = plots.panels(2 * len(networks), columns=2)
    for number, network in enumerate(networks):
        for name in STRATEGIES:
            rows = [row for row in report.rows if (row["network"], row["strategy"]) == (network, name)]
            xs = [row["index_entries"] for row in rows]
            times = [Spread.in_row(row, "seconds") for row in rows]
            plots.line(axes[2 * number], xs, times, name)
            shares = [100 * row["hits"] / report.parameters["gets"] for row in rows]
            axes[2 * number + 1].plot(xs, shares, marker="o", markersize=3, label=name)
        axes[2 * number].axhline(rows[0]["plain_seconds"], color="black", linestyle="--", label="plain")
        axes[2 * number].set_ylabel("completion time, s")
        axes[2 * number + 1].set_ylabel("hits, % of the gets")
        for axis in axes[2 * number : 2 * number + 2]:
            axis.set_title(network)
            axis.set_xlabel("|I_w| at the start, entries")
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
