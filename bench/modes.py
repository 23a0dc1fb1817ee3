# SPDX-License-Identifier: Apache-2.0
"""The modes side by side: hits, messages, bytes and time of unmodified programs over TCP."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from bench import apps, plots
from bench.harness import GRAPH, PLAIN, Claim, Options, Outcome, Place, Report, Row, Side, families, is_built

TITLE = "Unmodified programs in each mode"

RANGES = "acquire, ranges only"
MODES = {
    "plain": PLAIN,
    "transparent": Side("transparent"),
    RANGES: Side("acquire", {"read_ahead_bytes": 0, "write_behind_bytes": 0}),
    "acquire": Side("acquire"),
}


class Program(NamedTuple):
    """A program, the result that must not differ, its time, and the modes that know what it does."""

    name: str
    arguments: Sequence[object]
    same: str
    seconds: str = "communication_seconds"
    best: str = ""
    """The mode that its author would choose: what mode acquire is held against."""
    read_only: bool = False
    """Whether always-cache is right: nothing that it gets is written after its first get."""
    promise: Mapping[str, object] = {}
    """What it keeps, so that mode acquire forgets less: settings."""
    what: str = ""
    puts_timed: bool = True
    """Whether its puts and atomics belong to what is timed, and are counted with the messages."""

    @property
    def title(self) -> str:
        """What it does, where one program does several things."""
        return self.what or self.name

    def sides(self) -> dict[str, Side]:
        """The modes that it may run in."""
        sides = dict(MODES)
        for mode in (*(["always-cache"] if self.read_only else []), *([self.best] if self.best else [])):
            sides[mode] = Side(mode)
        if self.promise:
            sides[self.claimed] = Side("acquire", self.promise)
        return sides

    @property
    def claimed(self) -> str:
        """The side by which it is measured whether acquire is worth it."""
        return " ".join(["acquire", *(f"{name}={value}" for name, value in self.promise.items())])


def programs(options: Options) -> list[Program]:
    """Some that read what nobody writes meanwhile, under a lock_all or with a lock for each get, with and
    without a counter that all ranks add to; some that read what others change between barriers, and one that
    writes to others between barriers.

    Always-cache would give wrong results where what was read changes: Barnes-Hut builds its tree anew in each
    step, `nearby` changes elements between rounds, and `coarray_transpose` its matrix. `nearby` that only
    writes gets nothing.
    """
    vertices, locked, bodies = options.choose((1000, 500, 2000), (20, 20, 200))
    columns = ["--columns", options.choose(100, 20), "--rounds", options.choose(5, 2)]
    tree = ["--bodies", bodies, "--steps", 2, "--max-bodies", options.choose(100, 10)]
    table = ["--keys", options.choose(20000, 500), "--lookups", options.choose(10000, 300)]
    fixed = {"best": "always-cache", "read_only": True}
    return [
        Program("lcc", [GRAPH, "--max-vertices", vertices], "average", **fixed),
        Program(
            "lcc",
            [GRAPH, "--max-vertices", locked, "--lock-each"],
            "average",
            promise={"locks": "access"},
            what="lcc, a lock for each get",
            **fixed,
        ),
        Program("hash_table", table, "checksum", what="hash table", puts_timed=False, **fixed),
        Program(
            "hash_table",
            [*table, "--counter-every", 100],
            "checksum",
            promise={"atomics": "relaxed"},
            what="hash table with a counter",
            puts_timed=False,
            **fixed,
        ),
        Program("barnes_hut", tree, "checksum", "force_seconds_per_body", "user-defined"),
        Program("nearby", ["--rounds", options.choose(20, 2)], "sum", what="nearby reads"),
        Program(
            "nearby",
            ["--rounds", options.choose(20, 2), "--requests", 1],
            "sum",
            what="nearby reads by requests",
        ),
        Program(
            "nearby",
            ["--rounds", options.choose(20, 2), "--requests", 100],
            "sum",
            what="nearby reads by a hundred requests",
        ),
        Program(
            "nearby",
            ["--rounds", options.choose(20, 2), "--reads", 0, "--writes", 5000],
            "wrong",
            read_only=True,
            what="nearby writes",
        ),
        Program("coarray_transpose", columns, "checksum", promise={"locks": "access"}),
    ]


def run(options: Options) -> Report:
    """All modes of a program take turns; its results have to be the same."""
    rounds = options.rounds_or(7, 1)
    chosen = programs(options)
    report = Report({"rounds": rounds, "ranks": 2})
    report.parameters["programs"] = [
        [program.title, *(getattr(word, "name", word) for word in program.arguments)] for program in chosen
    ]
    for family in families():
        place = Place(family, 2, "tcp")
        for program in chosen:
            if not is_built(family, program.name):
                continue
            calls = {
                (name, "", 0): partial(apps.measure, program.name, program.arguments, place, side)
                for name, side in program.sides().items()
            }
            label = f"{program.title}, {place}"
            rows, results = apps.compare(calls, program.seconds, program.same, rounds, options, label)
            for row, (_, runs) in zip(rows, results.items()):
                traffic = _traffic(runs[-1].outcome, program.puts_timed)
                report.rows.append({**row, "mode": row["strategy"], **traffic})
            report.claims += _claims(program, label, report.rows[-len(rows) :])
    report.columns = ("what", "mode", "seconds", "speed_up", "hits", "messages", "bytes_moved")
    return report


def _traffic(outcome: Outcome, puts: bool) -> Row:
    """Messages for gets, and for puts if asked for, and what the gets brought; nothing of a plain run."""
    if not outcome.counters:
        return {"messages": "", "bytes_moved": ""}
    operations = outcome.total("gets")
    messages = operations - outcome.total("hits") - outcome.total("pending_hits")
    if puts:
        operations += outcome.total("puts")
        messages += outcome.total("puts") - outcome.total("puts_collected") + outcome.total("put_messages")
    return {
        "messages": messages,
        "bytes_moved": outcome.total("bytes_from_network") + outcome.total("bytes_read_ahead"),
        "operations": operations,
    }


def _claims(program: Program, label: str, rows: list[Row]) -> list[Claim]:
    by_mode = {row["mode"]: row for row in rows}
    acquire = by_mode[program.claimed]
    if program.best:
        share = 100 * acquire["speed_up"] / by_mode[program.best]["speed_up"]
        text = f"{label}: speed-up in mode {program.claimed}, over that in {program.best}"
        detail = f"{acquire['speed_up']:.4g} and {by_mode[program.best]['speed_up']:.4g} times"
        return [Claim.at_least(text, 90, share, "%", detail)]
    fewer = acquire["operations"] / max(acquire["messages"], 1)
    return [
        Claim.at_least(f"{label}: gets and puts over messages in mode {program.claimed}", 10, fewer, "times"),
        Claim.at_least(f"{label}: speed-up in mode {program.claimed}", 5, acquire["speed_up"], "times"),
    ]


def _label(row: Row) -> str:
    """What stands beside a bar."""
    text = f"{row['speed_up']:.3g}x"
    if row["messages"] == "":
        return text
    return f"{text}, {100 * row['hits']:.3g} % hits, {row['messages']:,} messages"


def plot(report: Report, path: Path) -> None:
    """One panel per program and network: seconds of each mode, with hits and messages."""
    plots.modes(report.rows, _label, path, TITLE)
