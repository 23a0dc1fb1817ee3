# SPDX-License-Identifier: Apache-2.0
"""Runs of the two applications, plain and under nearfetch, over |S_w| and |I_w|."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Callable, Mapping, NamedTuple, Sequence

from bench import plots
from bench.harness import (
    PLAIN,
    BenchError,
    Options,
    Outcome,
    Place,
    Report,
    Row,
    Side,
    Spread,
    alternate,
    run,
)

STRATEGIES = ("fixed", "adaptive")

Key = tuple[str, str, int]
"""Strategy, |S_w| and |I_w|; empty and 0 where they mean nothing."""


class Result(NamedTuple):
    """What an application reported, and nearfetch's counters."""

    report: Row
    outcome: Outcome


def measure(name: str, arguments: Sequence[object], place: Place, side: Side = PLAIN) -> Result:
    """Runs the application `name`."""
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        path = Path(scratch) / "report.json"
        outcome = run(name, [*arguments, "--json", path], place, side, timeout_s=600)
        return Result(json.loads(path.read_text(encoding="utf-8")), outcome)


def cached_side(mode: str, strategy: str, buffer_bytes: str, index_entries: int) -> Side:
    """nearfetch with these sizes, kept or to start with."""
    adaptive = "on" if strategy == "adaptive" else "off"
    return Side(mode, {"adaptive": adaptive, "buffer_bytes": buffer_bytes, "index_entries": index_entries})


class Study(NamedTuple):
    """An application whose times and access types two figures show."""

    program: str
    arguments: Sequence[object]
    place: Place
    mode: str
    """nearfetch's."""

    def report(self) -> Report:
        """An empty report on it."""
        place = self.place
        return Report({"program": [self.program, *self.arguments], "place": str(place), "ranks": place.ranks})

    def call(self, side: Side = PLAIN, more: Sequence[object] = ()) -> Callable[[], Result]:
        """A run, with `more` arguments."""
        return partial(measure, self.program, [*self.arguments, *more], self.place, side)


class Grid(NamedTuple):
    """The sizes that a figure goes over."""

    buffers: Sequence[str]
    entries: Sequence[int]

    def sides(
        self, mode: str, more: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    ) -> dict[Key, Side]:
        """nearfetch with each of them, by strategy, |S_w| and |I_w|; `more`: fixed, with these settings."""
        sides = {}
        for buffer in self.buffers:
            for count in self.entries:
                for strategy in (*STRATEGIES, *more):
                    side = cached_side(mode, strategy, buffer, count)
                    settings = {**side.settings, **more.get(strategy, {})}
                    sides[strategy, buffer, count] = Side(mode, settings)
        return sides


def compare(
    calls: Mapping[Key, Callable[[], Result]],
    value: str,
    same: str,
    rounds: int,
    options: Options,
    label: str,
) -> tuple[list[Row], dict[Key, list[Result]]]:
    """Rows over all `calls`, the first of which is the plain program; and all results by the call's key.

    `value` names the time that is compared, `same` the result that must not differ. Raises BenchError where
    it does.
    """
    results = alternate(calls, rounds, options, label)
    found = {json.dumps(result.report[same]) for runs in results.values() for result in runs}
    if len(found) != 1:
        raise BenchError(f"{label}: '{same}' differs between runs ({', '.join(sorted(found))}): report it")
    plain = [result.report[value] for result in next(iter(results.values()))]
    rows = []
    for (strategy, buffer, entries), runs in results.items():
        times = [result.report[value] for result in runs]
        row: Row = {
            "what": label,
            "strategy": strategy,
            "buffer_bytes": buffer,
            "index_entries": entries or "",
        }
        row.update(Spread.of(times).columns("seconds"))
        row.update(Spread.of_ratios(plain, times).columns("speed_up"))
        last = runs[-1].outcome
        if last.counters:
            row.update(_access_columns(last))
        rows.append(row)
    return rows, results


def accesses(study: Study, grid: Grid, options: Options) -> Report:
    """Access types of one run each. Nothing is bypassed, as in 001: what the cache does is what is asked."""
    report = study.report()
    calls = {
        key: study.call(Side(side.mode, {**side.settings, "bypass": "off"}))
        for key, side in grid.sides(study.mode).items()
    }
    for (strategy, buffer, entries), runs in alternate(calls, 1, options, str(study.place)).items():
        row: Row = {"strategy": strategy, "buffer_bytes": buffer, "index_entries": entries}
        report.rows.append({**row, **_access_columns(runs[0].outcome)})
    return report


def _access_columns(outcome: Outcome) -> Row:
    columns: Row = {name: round(share, 5) for name, share in outcome.shares().items()}
    columns["resizes"] = outcome.total("index_resizes") + outcome.total("buffer_resizes")
    return columns


def plot_times(rows: list[Row], label: str, path: Path, title: str) -> None:
    """Times over |S_w|, one panel per |I_w|; what has no |I_w| is in each of them."""
    entries = sorted({row["index_entries"] for row in rows if row["index_entries"] != ""})
    buffers = list(dict.fromkeys(row["buffer_bytes"] for row in rows if row["buffer_bytes"]))
    figure, axes = plots.panels(len(entries))
    for axis, count in zip(axes, entries):
        for strategy in dict.fromkeys(row["strategy"] for row in rows):
            chosen = [
                row for row in rows if row["strategy"] == strategy and row["index_entries"] in (count, "")
            ]
            spreads = [Spread.in_row(row, "seconds") for row in chosen]
            if chosen[0]["buffer_bytes"]:
                plots.line(axis, [buffers.index(row["buffer_bytes"]) for row in chosen], spreads, strategy)
                for row in chosen:
                    if row.get("resizes"):
                        at = (buffers.index(row["buffer_bytes"]), row["seconds"])
                        axis.annotate(str(row["resizes"]), at, fontsize=7)
            else:
                axis.axhline(spreads[0].median, color="black", linestyle="--", label=strategy)
        axis.set_xticks(range(len(buffers)), buffers)
        axis.set_xlabel("|S_w|; numbers: adjustments")
        axis.set_ylabel(label)
        axis.set_yscale("log")
        axis.set_title(f"|I_w| = {count}")
    axes[0].legend(fontsize=7)
    plots.save(figure, path, title)


def plot_accesses(rows: list[Row], path: Path, title: str) -> None:
    """Stacked access types over |I_w|, one panel per strategy."""
    strategies = list(dict.fromkeys(row["strategy"] for row in rows))
    figure, axes = plots.panels(len(strategies))
    for axis, strategy in zip(axes, strategies):
        chosen = [row for row in rows if row["strategy"] == strategy]
        plots.access_types(axis, [str(row["index_entries"]) for row in chosen], chosen)
        axis.set_xlabel("|I_w|, entries")
        axis.set_title(f"{strategy}, |S_w| = {chosen[0]['buffer_bytes']}")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
    plots.save(figure, path, title)
