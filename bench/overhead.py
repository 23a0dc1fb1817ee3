# SPDX-License-Identifier: Apache-2.0
"""Programs that nearfetch cannot help, with it and without it.

*Calls* are loops of MPI calls of two ranks. They go through nearfetch and past it, batch by batch, on one
window in one process. A call may take 10 ns more than plain, or 5 %, whichever is more. *Loops* are the
same for what a cache may help: all of a loop has to reach 0.97 of plain speed, with what it takes to find
out. *Misses* are gets of 8 B in a cache that is full. A get and its flush may take 400 ns more
than plain. *Programs* have to reach 0.97 of plain speed. Where nothing is kept of a program, its
repetitions go through nearfetch and past it within one process. The others are pairs of processes. One
process, or pair, is one sample.
"""

from __future__ import annotations

from functools import partial
from typing import Iterator, Mapping, NamedTuple, Sequence

from bench import apps, harness
from bench.harness import GRAPH, INTERPOSED, PLAIN, Options, Place, Side, alternate, families, is_built
from bench.plots import Bars
from bench.promises import MISS_NS, PROGRAM_RATIO, allowed_ns
from bench.report import Claim, Interval, Report, Row, beside_plain, worst

TITLE = "What nearfetch costs where it cannot help"

DEFAULT = Side("acquire", counted=False)
"""What `nearfetch run` does when nothing is said; and nobody asks for statistics."""
SIDES = {"plain": PLAIN, "interposed": INTERPOSED, "nearfetch": DEFAULT}
KINDS = (("shm", "allocate"), ("shm", "create"), ("tcp", "create"))
BATCHES = {"shm": 200, "tcp": 100}
"""Of each loop in a process. Over TCP one takes several times as long."""
PROCESSES, PAIRS = 6, 9
"""Of loops and repetitions; and of programs that are compared process by process, which vary more."""
TURNS = 8
"""Groups of four repetitions in a process: through, past, past, through."""

HELPED = {"get_random_65536", "get_stream_8", "get_stream_4096", "get_many_8", "get_many_random_8"}
HELPED |= {"rget_many_random_8", "put_stream_8"}
"""Loops that read again, or what lies beside, or write little pieces."""
MISS = "get_random_8"
POLICIES = ("density", "gdsf", "lru")
FULL = {"bypass": "off", "adaptive": "off", "read_ahead_bytes": 0, "buffer_bytes": "32KiB"}
"""A cache that has room for a hundredth of what the misses read, and never gives up."""

PROMISES = {
    "call": (
        "of_allowed",
        Claim.at_most,
        1,
        "times",
        "time added to a call, over the 10 ns or 5 % that may be",
    ),
    "loop": ("ratio_of_sums", Claim.at_least, PROGRAM_RATIO, "times", "loops, plain time over nearfetch's"),
    "miss": ("added_ns", Claim.at_most, MISS_NS, "ns", "time added to a miss and its flush, in a full cache"),
    "program": ("ratio", Claim.at_least, PROGRAM_RATIO, "times", "programs, plain time over nearfetch's"),
}
"""By the kind of a row: the column that is claimed, and what."""


def run(options: Options) -> Report:
    """All of it: the number of samples is the same for each row of a kind."""
    parameters = {"samples": options.samples(PROCESSES), "program_pairs": options.samples(PAIRS)}
    batches = {network: _batches(network, options) for network in BATCHES}
    report = Report({**parameters, "batches": batches, "turns": TURNS, "ranks": 2, "full_cache": FULL})
    for family in families():
        for network, window in KINDS:
            place = Place(family, 2, network)
            sides = {"interposed": INTERPOSED, "nearfetch": DEFAULT}
            report.rows += _calls(place, window, sides, options)
        for network in ("shm", "tcp"):
            report.rows += _misses(Place(family, 2, network), options)
            for program in programs(Place(family, 2, network), options):
                report.rows.append(program.row(Place(family, 2, network), options))
    report.columns = "network window what plain_ns nearfetch_ns added_ns of_allowed ratio interposed_ratio"
    report.claims = _claims(report.rows)
    report.findings = [beside_plain(f"{_what(row)}, {row['network']}", row) for row in report.rows]
    report.pictures = [Bars(report.rows, "ratio", ["what", "window"], ["network", "kind"], log="x")]
    return report


def _batches(network: str, options: Options) -> int:
    return options.choose(BATCHES[network], 10)


def _calls(place: Place, window: str, sides: Mapping[str, Side], options: Options, *chosen: str) -> list[Row]:
    """A row for each pattern, or for the `chosen` ones, of `nearfetch` beside `interposed` if it is there."""
    batches = _batches(place.network, options)
    arguments = ["--window", window, "--samples", batches, "--patterns", ",".join(chosen)]

    def measured(side: Side) -> dict[str, Row]:
        lines = harness.run("patterns", arguments, place, side).json_lines()
        return {line["pattern"]: line for line in lines}

    calls = {name: partial(measured, side) for name, side in sides.items()}
    results = alternate(calls, options.samples(PROCESSES), options, f"{place} {window}")
    rows = []
    for pattern, line in results["nearfetch"][0].items():
        runs = [one[pattern] for one in results["nearfetch"]]
        kind = "loop" if pattern in HELPED else "call"
        row: Row = {"kind": kind, "network": str(place), "window": window, "what": pattern}
        row["calls"] = line["calls"]
        for column, side in (("plain_ns", "past_ns"), ("nearfetch_ns", "through_ns")):
            row.update(Interval.of([one[side] for one in runs]).columns(column))
        shares = [one["added_ns"] / allowed_ns(one["past_ns"], one["calls"]) for one in runs]
        row.update(Interval.of(shares).columns("of_allowed"))
        for column in ("added_ns", "ratio", "ratio_of_sums"):
            row.update(Interval.of([one[column] for one in runs]).columns(column))
        if "interposed" in results:
            passed = [one[pattern]["ratio"] for one in results["interposed"]]
            row.update(Interval.of(passed).columns("interposed_ratio"))
        rows.append(row)
    return rows


def _misses(place: Place, options: Options) -> list[Row]:
    rows = []
    for policy in POLICIES:
        side = Side("always-cache", {**FULL, "policy": policy}, counted=False)
        (row,) = _calls(place, "create", {"nearfetch": side}, options, MISS)
        rows.append({**row, "kind": "miss", "what": f"miss in a full cache, {policy}"})
    return rows


class Program(NamedTuple):
    """A whole program, and the time that is compared."""

    name: str
    arguments: Sequence[object]
    value: str
    what: str = ""

    def row(self, place: Place, options: Options) -> Row:
        """Compares processes."""
        what = self.what or self.name
        calls = {
            name: partial(apps.measure, self.name, self.arguments, place, side)
            for name, side in SIDES.items()
        }
        seconds = {
            name: [result.report[self.value] for result in runs]
            for name, runs in alternate(calls, options.samples(PAIRS), options, f"{place} {what}").items()
        }
        passed = Interval.of_ratios(seconds["plain"], seconds["interposed"])
        return _row(place, what, seconds["plain"], seconds["nearfetch"], passed)


class Interleaved(NamedTuple):
    """One whose repetitions go through nearfetch and past it (interleaved.cpp); `value`: their times."""

    name: str
    arguments: Sequence[object]
    value: str
    what: str = ""
    repeats: str = "--repeat"
    """The option that says how often."""

    def row(self, place: Place, options: Options) -> Row:
        """Compares repetitions within processes."""
        what = self.what or self.name
        arguments = [*self.arguments, self.repeats, 4 * options.choose(TURNS, 1)]
        calls = {
            name: partial(apps.measure, f"{self.name}_interleaved", arguments, place, side)
            for name, side in SIDES.items()
            if side is not PLAIN
        }
        results = alternate(calls, options.samples(PROCESSES), options, f"{place} {what}")
        times = {
            name: list(zip(*(map(sum, zip(*turns(result.report[self.value]))) for result in runs)))
            for name, runs in results.items()
        }
        through, past = (
            [seconds / (2 * options.choose(TURNS, 1)) for seconds in side] for side in times["nearfetch"]
        )
        return _row(place, what, past, through, Interval.of_ratios(*reversed(times["interposed"])))


def turns(seconds: Sequence[float]) -> Iterator[tuple[float, float]]:
    """What each four repetitions took through the library, and past it."""
    for at in range(0, len(seconds), 4):
        first, second, third, fourth = seconds[at : at + 4]
        yield first + fourth, second + third


def _row(
    place: Place, what: str, plain: Sequence[float], nearfetch: Sequence[float], passed: Interval
) -> Row:
    row: Row = {"kind": "program", "network": str(place), "window": "", "what": what}
    row.update(Interval.of(plain).times(1e9).columns("plain_ns"))
    row.update(Interval.of(nearfetch).times(1e9).columns("nearfetch_ns"))
    row.update(Interval.of_ratios(plain, nearfetch).columns("ratio"))
    return {**row, **passed.columns("interposed_ratio")}


def programs(place: Place, options: Options) -> list[Program | Interleaved]:
    """Larger ones where the network is quick.

    Repetitions are interleaved where nothing of them is kept: of `lcc` in shared memory, or with a lock for
    each get.
    """
    more = options.choose(20, 1) if place.network == "shm" else 1
    vertices, locked, bodies = options.choose((1000, 200, 2000), (20, 20, 200))
    graph = [GRAPH, "--max-vertices", vertices * more]
    locks = [GRAPH, "--max-vertices", locked * more, "--lock-each"]
    tree = ["--bodies", bodies * more, "--steps", 2, "--max-bodies", options.choose(100, 10) * more]
    reads = ["--rounds", options.choose(20, 2) * more]
    seconds, each = "communication_seconds", "communication_seconds_per_repetition"
    chosen: list[Program | Interleaved] = [
        Interleaved("lcc", graph, each) if place.network == "shm" else Program("lcc", graph, seconds),
        Interleaved("lcc", locks, each, "lcc, a lock for each get"),
        Program("barnes_hut", tree, "force_seconds_per_body", "Barnes-Hut, force time per body"),
        Program("nearby", reads, seconds, "nearby reads"),
    ]
    if is_built(place.family, "coarray_transpose_interleaved"):
        columns = ["--columns", options.choose(40, 10) * (10 if more > 1 else 1)]
        each = "communication_seconds_per_round"
        chosen.append(Interleaved("coarray_transpose", columns, each, repeats="--rounds"))
    return chosen


def _claims(rows: list[Row]) -> list[Claim]:
    """The worst of each kind, by network."""
    claims = []
    for network in dict.fromkeys(row["network"] for row in rows):
        for kind, (column, make, limit, unit, text) in PROMISES.items():
            here = [row for row in rows if (row["network"], row["kind"]) == (network, kind)]
            if here:
                found, what = worst(make, [(Interval.in_row(row, column), _what(row)) for row in here])
                claims.append(make(f"{network}: {text}, the worst of {len(here)}", limit, found, unit, what))
    return claims


def _what(row: Row) -> str:
    return " ".join(filter(None, (row["what"], row["window"])))
