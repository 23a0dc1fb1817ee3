# SPDX-License-Identifier: Apache-2.0
"""Runs of the two applications, plain and under nearfetch, over |S_w| and |I_w|."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Callable, Mapping, NamedTuple, Sequence

from bench.harness import AS_001, PLAIN, BenchError, Options, Outcome, Place, Side, alternate, run
from bench.plots import Lines, Stacks
from bench.report import Claim, Interval, Report, Row, worst

STRATEGIES: Mapping[str, Mapping[str, object]] = {
    "fixed": {"adaptive": "off"},
    "adaptive": {"adaptive": "on"},
    "fixed, as-001": {"adaptive": "off", "bypass": "off", **AS_001},
    "adaptive, as-001": {"adaptive": "on", "bypass": "off", **AS_001},
}
"""Ours, and the paper's own algorithm, which bypasses nothing."""
OURS = "adaptive"
"""The default."""

Key = tuple[str, str, int]
"""Strategy, |S_w| and |I_w|; empty and 0 where they mean nothing."""


class Result(NamedTuple):
    """What an application reported, and nearfetch's counters."""

    report: Row
    outcome: Outcome


Call = Callable[[], Result]
"""A run that may be made."""


def measure(name: str, arguments: Sequence[object], place: Place, side: Side = PLAIN) -> Result:
    """Runs the application `name`."""
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        path = Path(scratch) / "report.json"
        outcome = run(name, [*arguments, "--json", path], place, side, timeout_s=600)
        return Result(json.loads(path.read_text(encoding="utf-8")), outcome)


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

    def call(self, side: Side = PLAIN, more: Sequence[object] = ()) -> Call:
        """A run, with `more` arguments."""
        return partial(measure, self.program, [*self.arguments, *more], self.place, side)


class Grid(NamedTuple):
    """The sizes that a figure goes over."""

    buffers: Sequence[str]
    entries: Sequence[int]

    def sides(
        self, mode: str, more: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    ) -> dict[Key, Side]:
        """nearfetch with each of them, by strategy, |S_w| and |I_w|; `more` strategies."""
        return {
            (strategy, buffer, count): Side(
                mode, {"buffer_bytes": buffer, "index_entries": count, **settings}
            )
            for buffer in self.buffers
            for count in self.entries
            for strategy, settings in {**STRATEGIES, **more}.items()
        }


def compare(
    calls: Mapping[Key, Call],
    value: str,
    same: str,
    samples: int,
    options: Options,
    label: str,
) -> tuple[list[Row], dict[Key, list[Result]]]:
    """Rows over all `calls`, the first of which is the plain program; and all results by the call's key.

    `value` names the time that is compared, `same` the result that must not differ. Raises BenchError where
    it does.
    """
    results = alternate(calls, samples, options, label)
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
            "each_seconds": times,
        }
        row.update(Interval.of(times).columns("seconds"))
        row.update(Interval.of_ratios(plain, times).columns("speed_up"))
        last = runs[-1].outcome
        if last.counters:
            row.update(access_columns(last))
        rows.append(row)
    return rows, results


def sizes(row: Row) -> str:
    """|S_w| and |I_w| of a row, as text."""
    return f"|S_w| = {row['buffer_bytes']}, |I_w| = {row['index_entries']}"


def as_001_claims(
    text: str, rows: Sequence[Row], samples: Callable[[Row], Sequence[float]], place: Callable[[Row], str]
) -> list[Claim]:
    """The paper's algorithm over ours: each over its like, and the better one over the default (`adaptive`).

    Each is about the worst place of the rows. `samples` of a row were measured side by side with the others'.
    """
    found: dict[str, dict[str, Sequence[float]]] = {}
    for row in rows:
        if row["strategy"].split(",")[0] in ("fixed", "adaptive"):
            found.setdefault(row["strategy"], {})[place(row)] = samples(row)
    fixed, adaptive = (found.pop(f"{index}, as-001") for index in ("fixed", "adaptive"))
    better = {where: min(fixed[where], adaptive[where], key=median) for where in fixed}
    claims = []
    for name, ours in found.items():
        likes = [("fixed as-001", fixed)]
        if name.startswith("adaptive"):
            likes = [("adaptive as-001", adaptive), ("the better as-001", better)]
        for like, theirs in likes:
            ratios = [(Interval.of_ratios(theirs[where], ours[where]), where) for where in theirs]
            measured, where = worst(Claim.at_least, ratios)
            claims.append(Claim.at_least(f"{text} of {like} over {name}", 1, measured, "times", where))
    return claims


def accesses(study: Study, grid: Grid, options: Options) -> Report:
    """Access types of one run each. Nothing is bypassed, as in 001: what the cache does is what is asked."""
    report = study.report()
    calls = {
        key: study.call(Side(side.mode, {**side.settings, "bypass": "off"}))
        for key, side in grid.sides(study.mode).items()
    }
    for (strategy, buffer, entries), runs in alternate(calls, 1, options, str(study.place)).items():
        row: Row = {"strategy": strategy, "buffer_bytes": buffer, "index_entries": entries}
        report.rows.append({**row, **access_columns(runs[0].outcome)})
    report.pictures = [Stacks(report.rows, "index_entries", ["strategy"])]
    return report


def access_claims(rows: Sequence[Row]) -> list[Claim]:
    """An adaptive index at its worst start, against the paper's and the largest fixed one."""
    found = {(row["strategy"], row["index_entries"]): row for row in rows}
    entries = [count for strategy, count in found if strategy == "adaptive"]

    def share(strategy: str, count: int, kind: str = "hits") -> float:
        return 100 * found[strategy, count][kind]

    hits, least = min((share("adaptive", count), count) for count in entries)
    papers = {n: max(share("fixed, as-001", n), share("adaptive, as-001", n)) for n in entries}
    more, where = min((share("adaptive", n) - papers[n], n) for n in entries)
    conflicts, most = max((share("adaptive", count, "conflicting"), count) for count in entries)
    best, unit = share("fixed", entries[-1]), "% of the gets"
    return [
        Claim.at_least(
            "adaptive: hits, of the largest fixed index's", 90, 100 * hits / best, "%", f"|I_w| = {least}"
        ),
        Claim.at_least("adaptive: hits, more than the better as-001", 0, more, unit, f"|I_w| = {where}"),
        Claim.at_most("adaptive: conflicting misses", 10, conflicts, unit, f"|I_w| = {most}"),
    ]


def reuse_claims(rows: Sequence[Row]) -> list[Claim]:
    """What 001 says of LCC in its smaller buffer (section IV-C, Fig. 16)."""
    adaptive = [row for row in rows if row["strategy"] == "adaptive"]
    largest = [row for row in rows if row["strategy"] == "fixed"][-1]
    return [
        Claim.at_least("adaptive: hits", 60, 100 * min(row["hits"] for row in adaptive), "% of the gets"),
        Claim.at_most(
            "fixed, the largest index: conflicting misses", 1, 100 * largest["conflicting"], "% of the gets"
        ),
    ]


def access_columns(outcome: Outcome) -> Row:
    """Each access type as a share of all ranks' gets, and how often sizes were adapted."""
    columns: Row = {name: round(share, 5) for name, share in outcome.shares().items()}
    columns["resizes"] = outcome.total("index_resizes") + outcome.total("buffer_resizes")
    return columns


def times(rows: Sequence[Row], *panel: str) -> list[Lines]:
    """Times over |S_w|, one panel per |I_w|, and per value of the columns `panel`."""
    return [Lines(rows, "seconds", "buffer_bytes", "strategy", [*panel, "index_entries"], log="y")]
