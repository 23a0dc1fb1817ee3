# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs in each mode: time, hits, messages and bytes, 2 ranks over TCP.

The modes of a program take turns, and its results have to be the same. Barnes-Hut shows the force time of
one body: 100 bodies of each rank are computed in a tree of 2,000. The others show the time that the
program spends in communication. `acquire` is the default; "ranges only" is without read-ahead and without
combined puts. A mode that the program's author would choose is beside it, or a promise that the program
keeps.
"""

from __future__ import annotations

from functools import partial
from typing import Mapping, NamedTuple, Sequence

from bench import apps
from bench.harness import GRAPH, PLAIN, Options, Outcome, Place, Side, families, is_built
from bench.plots import Bars
from bench.report import Claim, Interval, Report, Row, finding

TITLE = "Unmodified programs in each mode, 2 ranks over TCP"

SAMPLES = 9

RANGES = "acquire, ranges only"
MODES = {
    "plain": PLAIN,
    "transparent": Side("transparent"),
    RANGES: Side("acquire", {"read_ahead_bytes": 0, "write_combining_bytes": 0}),
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
    counted = [*table, "--counter-every", 100]
    near = ["--rounds", options.choose(20, 2)]
    written = [*near, "--reads", 0, "--writes", 5000]
    lcc = [GRAPH, "--max-vertices"]
    fixed = {"best": "always-cache", "read_only": True}
    locks, relaxed = {"locks": "access"}, {"atomics": "relaxed"}
    each = {"seconds": "force_seconds_per_body", "best": "user-defined"}
    body = f"Barnes-Hut, force time of a body ({tree[-1]} of each rank)"
    hashed = Program("hash_table", table, "checksum", what="hash table", puts_timed=False, **fixed)
    return [
        Program("lcc", [*lcc, vertices], "average", what="LCC", **fixed),
        Program(
            "lcc",
            [*lcc, locked, "--lock-each"],
            "average",
            promise=locks,
            what="LCC, a lock for each get",
            **fixed,
        ),
        hashed,
        hashed._replace(arguments=counted, promise=relaxed, what="hash table with a counter"),
        Program("barnes_hut", tree, "checksum", what=body, **each),
        Program("nearby", near, "sum", what="nearby reads"),
        Program("nearby", [*near, "--requests", 1], "sum", what="nearby reads by requests"),
        Program("nearby", [*near, "--requests", 100], "sum", what="nearby reads by a hundred requests"),
        Program("nearby", written, "wrong", read_only=True, what="nearby writes"),
        Program("coarray_transpose", columns, "checksum", promise=locks, what="Fortran coarrays"),
    ]


def run(options: Options) -> Report:
    """All modes of a program take turns; its results have to be the same."""
    samples = options.samples(SAMPLES)
    chosen = programs(options)
    report = Report({"samples": samples, "ranks": 2})
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
            rows, results = apps.compare(calls, program.seconds, program.same, samples, options, label)
            for row, (_, runs) in zip(rows, results.items()):
                traffic = _traffic(runs[-1].outcome, program.puts_timed)
                report.rows.append({**row, "mode": row["strategy"], **traffic})
            by_mode = {row["mode"]: row for row in report.rows[-len(rows) :]}
            report.claims += _claims(program, label, by_mode)
            plain, acquire = by_mode["plain"], by_mode[program.claimed]
            what = f"{label}, {program.claimed}"
            report.findings.append(finding(what, plain, acquire, "seconds", "s", "speed_up"))
    report.columns = "what mode seconds speed_up hits messages bytes_moved"
    report.pictures = [Bars(report.rows, "seconds", ["mode"], ["what"], log="x")]
    return report


def _traffic(outcome: Outcome, puts: bool) -> Row:
    """Messages for gets, and for puts if asked for, and what the gets brought; nothing of a plain run."""
    if not outcome.counters:
        return {"messages": "", "bytes_moved": ""}
    operations = outcome.total("gets")
    messages = operations - outcome.total("hits") - outcome.total("pending_hits")
    if puts:
        operations += outcome.total("puts")
        messages += outcome.total("puts") - outcome.total("puts_combined") + outcome.total("put_messages")
    return {
        "messages": messages,
        "bytes_moved": outcome.total("bytes_from_network") + outcome.total("bytes_read_ahead"),
        "operations": operations,
    }


def _claims(program: Program, label: str, rows: Mapping[str, Row]) -> list[Claim]:
    acquire = rows[program.claimed]
    speed_up = Interval.in_row(acquire, "speed_up")
    if program.best:
        share = Interval.of_ratios(rows[program.best]["each_seconds"], acquire["each_seconds"]).times(100)
        text = f"{label}: speed in mode {program.claimed}, over that in {program.best}"
        detail = f"{speed_up.median:.4g} and {rows[program.best]['speed_up']:.4g} times plain's"
        return [Claim.at_least(text, 90, share, "%", detail)]
    fewer = acquire["operations"] / max(acquire["messages"], 1)
    return [
        Claim.at_least(f"{label}: gets and puts over messages in mode {program.claimed}", 10, fewer, "times"),
        Claim.at_least(f"{label}: speed-up in mode {program.claimed}", 5, speed_up, "times"),
    ]
