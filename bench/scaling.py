# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of an application with hundreds of ranks, in virtual time."""

from __future__ import annotations

import json
from functools import partial
from typing import Mapping, NamedTuple, Sequence

from bench import apps
from bench.harness import PLAIN, BenchError, Options, Place, Side, on_all_cores
from bench.plots import Lines, Stacks
from bench.report import Claim, Interval, Report, Row
from nearfetch.mpiexec import SIMULATED

OURS = "adaptive"
INFINITE = "infinite cache"
"""Each rank gets a range once, and hits take no time."""
IDEAL = "ideal cache"
"""An infinite one whose lookups and copies take time (apps/common/ideal_cache.hpp)."""
PLATFORM = "aries"


class Case(NamedTuple):
    """A size of the application."""

    what: str
    ranks: int
    arguments: Sequence[object]


class FirstGets(NamedTuple):
    """How an application tells the first gets of each range from repeated ones."""

    value: str
    """Its time without repeated gets: that of a cache without limit whose hits cost nothing."""
    ideal: str
    """Its time with the best cache without limit, whose lookups and copies take time."""
    arguments: Sequence[object] = ()
    """That it needs for this."""

    def rows(self, report: Row) -> list[Row]:
        """Both, of a plain run."""
        again = report["remote_bytes"] - report["first_get_bytes"]
        free, ideal = report[self.value], report[self.ideal]
        return [
            {"strategy": INFINITE, "seconds": free, "got_again_bytes": again, "ideal_seconds": ideal},
            {"strategy": IDEAL, "seconds": ideal, "got_again_bytes": again},
        ]


BARNES_HUT_FIRST_GETS = FirstGets(
    "first_get_seconds_per_body", "ideal_cache_seconds_per_body", ["--first-gets"]
)
LCC_FIRST_GETS = FirstGets("first_get_seconds", "ideal_cache_seconds")


def bound(row: Row) -> str:
    """The row of an infinite cache in words, with both speed-ups."""
    free, again = row["speed_up"], row["got_again_bytes"] / 1e6
    ideal = free * row["seconds"] / row["ideal_seconds"]
    copies = f"{ideal:.3g} times with its copies, {free:.3g} at no cost"
    return f"an infinite cache: {copies}; {again:,.0f} MB are got again"


class Scaling(NamedTuple):
    """An application, and how it grows."""

    program: str
    value: str
    """The time that is compared."""
    same: str
    """The result that must not differ."""
    mode: str
    settings: Mapping[str, object]
    """|S_w| and |I_w|, of all sides."""
    first_gets: FirstGets
    """What the plain program says of a cache without limit."""
    native: Sequence[object] = ()
    """Arguments that turn the application's own cache on, if it has one."""

    def report(self, cases: Sequence[Case], times: float, options: Options) -> Report:
        """All sides of all cases. Claims: never slower than as-001, and at best `times` as fast as plain."""
        report = Report({"cases": cases, "platform": PLATFORM, **self._asdict()})
        sides = self._sides()
        calls = {
            (number, name): self._call(case, *how)
            for number, case in enumerate(cases)
            for name, how in sides.items()
        }
        # The largest first, so that no core is idle at the end.
        ordered = sorted(calls, key=lambda each: -cases[each[0]].ranks)
        results = on_all_cores({each: calls[each] for each in ordered}, options, self.program)
        for number, case in enumerate(cases):
            report.rows += self._rows(case, {name: results[number, name] for name in sides})
        for what in dict.fromkeys(case.what for case in cases):
            report.claims += _claims(report.rows, what, times)
        counted = [row for row in report.rows if "hits" in row]
        report.pictures = [
            Lines(report.rows, "seconds", "ranks", "strategy", ["what"], log="y"),
            Stacks(counted, "ranks", ["what", "strategy"]),
        ]
        report.columns = "what ranks strategy seconds speed_up hits conflicting capacity failing resizes"
        return report

    def _sides(self) -> dict[str, tuple[Side, Sequence[object]]]:
        """Each side's nearfetch and arguments, by its name; the plain program comes first."""
        sides: dict[str, tuple[Side, Sequence[object]]] = {"plain": (PLAIN, self.first_gets.arguments)}
        if self.native:
            sides["native"] = (PLAIN, self.native)
        for name, settings in apps.STRATEGIES.items():
            sides[name] = (Side(self.mode, {**self.settings, **settings}), ())
        return sides

    def _call(self, case: Case, side: Side, more: Sequence[object]) -> apps.Call:
        """A run, of which one is enough: what is simulated is exact."""
        place = Place(SIMULATED, case.ranks, PLATFORM)
        return partial(apps.measure, self.program, [*case.arguments, *more], place, side)

    def _rows(self, case: Case, results: Mapping[str, apps.Result]) -> list[Row]:
        """A row for each side.

        Raises BenchError where results differ.
        """
        rows: list[Row] = []
        for name, result in results.items():
            row: Row = {"strategy": name, "seconds": result.report[self.value]}
            if result.outcome.counters:
                row.update(apps.access_columns(result.outcome))
            rows += [row, *self.first_gets.rows(result.report)] if not rows else [row]
        found = {json.dumps(result.report[self.same]) for result in results.values()}
        if len(found) != 1:
            raise BenchError(
                f"{case.what}: '{self.same}' differs between sides ({', '.join(found)}): report it"
            )
        for row in rows:
            row.update({"what": case.what, "ranks": case.ranks})
            row["speed_up"] = round(rows[0]["seconds"] / row["seconds"], 4)
        return rows


def _claims(rows: Sequence[Row], what: str, times: float) -> list[Claim]:
    """Ours against the paper's own algorithm with any number of ranks, and `times` plain's with the best."""
    here = [row for row in rows if row["what"] == what]
    best = max((row for row in here if row["strategy"] == OURS), key=lambda row: row["speed_up"])
    (infinite,) = (row for row in here if (row["strategy"], row["ranks"]) == (INFINITE, best["ranks"]))
    detail = f"{best['ranks']} ranks; {bound(infinite)}"
    return [
        *apps.as_001_claims(
            f"{what}: time", here, lambda row: [row["seconds"]], lambda row: f"{row['ranks']} ranks"
        ),
        Claim.at_least(
            f"{what}: plain time over ours", times, Interval.exactly(best["speed_up"]), "times", detail
        ),
    ]
