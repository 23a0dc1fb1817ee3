# SPDX-License-Identifier: Apache-2.0
"""Programs that nearfetch cannot help, and some that it can: plain against the default settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from bench import apps, harness, plots
from bench.harness import (
    COUNTING,
    GRAPH,
    INTERPOSED,
    NEVER_SLOWER,
    PLAIN,
    Claim,
    Options,
    Place,
    Report,
    Row,
    Side,
    Spread,
    alternate,
    families,
    is_built,
    twice,
)

TITLE = "never slower: plain over nearfetch"

DEFAULT = Side("acquire", counted=False)
"""What `nearfetch run` does when nothing is said; and nobody asks for statistics."""
SIDES = {"plain": PLAIN, "interposed": INTERPOSED, "nearfetch": DEFAULT}
BOUND = {"counting": COUNTING}
"""What is measured beside these where something is below."""
PROGRAM_ROUNDS = 9
"""Of whole programs, to one of patterns: sides that are processes of their own differ by tens of percents,
and the median of three of them by a fifth."""
PATTERNS_AGAIN = 9
PROGRAMS_AGAIN = 3
"""Times as many rounds for what is below: patterns take a second, and a minute in which the machine is busy
makes three of them slow."""
TURNS = 8
"""Groups of four repetitions that a program goes through in one process: through, past, past, through."""
KINDS = (("shm", "allocate"), ("shm", "create"), ("tcp", "create"))

Patterns = dict[str, Row]
"""What bench/patterns.cpp reports, by the name of the pattern."""


def run(options: Options) -> Report:
    """Patterns of MPI calls, through nearfetch and past it in one process; and whole programs in pairs.

    Each cell that is below is measured again, in more rounds (PATTERNS_AGAIN, PROGRAMS_AGAIN times).
    """
    rounds, samples = options.rounds_or(3, 1), options.choose(400, 10)
    report = Report({"rounds": rounds, "samples": samples, "ranks": 2})
    for family in families():
        for network, window in KINDS:
            patterns = partial(_patterns, Place(family, 2, network), window, samples, options)
            report.rows += twice(patterns(rounds), partial(_again, patterns, PATTERNS_AGAIN * rounds))
        for network in ("shm", "tcp"):
            programs = partial(_programs, Place(family, 2, network), options)
            more = options.choose(PROGRAM_ROUNDS, 1) * rounds
            report.rows += twice(programs(more), partial(_again, programs, PROGRAMS_AGAIN * more))
    report.columns = (
        "network",
        "window",
        "what",
        "plain_ns",
        "nearfetch_ns",
        "ratio",
        "ratio_q1",
        "ratio_q3",
        "first_ratio",
        "interposed_ratio",
        "plain_ratio",
        "process_ratio",
    )
    report.claims = _claims(report.rows)
    return report


def _again(measure: Callable[..., list[Row]], rounds: int, rows: list[Row]) -> list[Row]:
    return measure(rounds, [row["what"] for row in rows])


def _patterns(
    place: Place, window: str, samples: int, options: Options, rounds: int, chosen: Sequence[str] = ()
) -> list[Row]:
    """A row for each pattern, or for the `chosen` ones."""
    sides = {**SIDES, **(BOUND if chosen else {})}
    calls = {name: _side(place, window, samples, side, chosen) for name, side in sides.items()}
    results = alternate(calls, rounds, options, f"{place} {window}")
    rows = []
    for pattern in results["plain"][0]:
        each = {name: [one[pattern] for one in runs] for name, runs in results.items()}
        row: Row = {"network": str(place), "window": window, "what": pattern}
        row["plain_ns"] = median(one["past_ns"] for one in each["nearfetch"])
        row["nearfetch_ns"] = median(one["through_ns"] for one in each["nearfetch"])
        row.update(Spread.of([one["ratio"] for one in each["nearfetch"]]).columns("ratio"))
        row.update(Spread.of([one["ratio_of_sums"] for one in each["nearfetch"]]).columns("ratio_of_sums"))
        for name in each.keys() & {"interposed", "counting"}:
            row.update(Spread.of([one["ratio"] for one in each[name]]).columns(f"{name}_ratio"))
        row.update(Spread.of([one["ratio"] for one in each["plain"]]).columns("plain_ratio"))
        times = ([one["through_ns"] for one in each[name]] for name in ("plain", "nearfetch"))
        row.update(Spread.of_ratios(*times).columns("process_ratio"))
        rows.append(row)
    return rows


def _side(
    place: Place, window: str, samples: int, side: Side, chosen: Sequence[str]
) -> Callable[[], Patterns]:
    arguments = ["--window", window, "--samples", samples, "--patterns", ",".join(chosen)]

    def measured() -> Patterns:
        outcome = harness.run("patterns", arguments, place, side)
        return {row["pattern"]: row for row in outcome.json_lines()}

    return measured


def _programs(place: Place, options: Options, rounds: int, chosen: Sequence[str] = ()) -> list[Row]:
    """A row for each program, or for the `chosen` ones."""
    sides = {**SIDES, **(BOUND if chosen else {})}
    return [
        program.row(place, sides, rounds, options)
        for program in _all_programs(place, options)
        if not chosen or program.title in chosen
    ]


class Program(NamedTuple):
    """A whole program, and the time that is compared."""

    name: str
    arguments: Sequence[object]
    value: str
    what: str = ""
    repeats: str = "--repeat"
    """The option that says how often, of one that repeats itself."""

    @property
    def title(self) -> str:
        """What it does, where one program does several things."""
        return self.what or self.name

    def row(self, place: Place, sides: Mapping[str, Side], rounds: int, options: Options) -> Row:
        """Compares processes."""
        calls = {
            name: partial(apps.measure, self.name, self.arguments, place, side)
            for name, side in sides.items()
        }
        seconds = {
            name: [result.report[self.value] for result in runs]
            for name, runs in alternate(calls, rounds, options, f"{place} {self.title}").items()
        }
        row = self._row(place, seconds["plain"], seconds["nearfetch"])
        row.update(Spread.of_ratios(seconds["plain"], seconds["nearfetch"]).columns("ratio"))
        for name in seconds.keys() & {"interposed", "counting"}:
            row.update(Spread.of_ratios(seconds["plain"], seconds[name]).columns(f"{name}_ratio"))
        return row

    def _row(self, place: Place, plain: Sequence[float], nearfetch: Sequence[float]) -> Row:
        row: Row = {"network": str(place), "window": "", "what": self.title}
        return {**row, "plain_ns": 1e9 * median(plain), "nearfetch_ns": 1e9 * median(nearfetch)}


class ProgramInTurn(Program):
    """One whose repetitions go through nearfetch and past it in turn (bench/in_turn.cpp), of which `value` is
    the time of each."""

    def row(self, place: Place, sides: Mapping[str, Side], rounds: int, options: Options) -> Row:
        """Compares repetitions within processes, four by four."""
        arguments = [*self.arguments, self.repeats, 4 * options.choose(TURNS, 1)]
        calls = {
            name: partial(apps.measure, f"{self.name}_in_turn", arguments, place, side)
            for name, side in sides.items()
        }
        results = alternate(calls, rounds, options, f"{place} {self.title}")
        # What each four repetitions took through the library, and past it.
        through, past = {}, {}
        for name, runs in results.items():
            all_turns = [turn for result in runs for turn in turns(result.report[self.value])]
            through[name], past[name] = zip(*all_turns)
        row = self._row(
            place, [two / 2 for two in past["nearfetch"]], [two / 2 for two in through["nearfetch"]]
        )
        row.update(Spread.of_ratios(past["nearfetch"], through["nearfetch"]).columns("ratio"))
        row["ratio_of_sums"] = sum(past["nearfetch"]) / sum(through["nearfetch"])
        for name in sides.keys() - {"nearfetch"}:
            row.update(Spread.of_ratios(past[name], through[name]).columns(f"{name}_ratio"))
        row.update(Spread.of_ratios(through["plain"], through["nearfetch"]).columns("process_ratio"))
        return row


def turns(seconds: Sequence[float]) -> Iterator[tuple[float, float]]:
    """What each four repetitions took through the library, and past it."""
    for at in range(0, len(seconds), 4):
        first, second, third, fourth = seconds[at : at + 4]
        yield first + fourth, second + third


def _all_programs(place: Place, options: Options) -> list[Program]:
    """Larger ones where the network is quick. Repetitions take turns where nothing of them is kept: those of
    `lcc` in shared memory, and with a lock for each get."""
    more = options.choose(20, 1) if place.network == "shm" else 1
    vertices, locked, bodies = options.choose((1000, 200, 2000), (20, 20, 200))
    graph = [GRAPH, "--max-vertices", vertices * more]
    locks = [GRAPH, "--max-vertices", locked * more, "--lock-each"]
    tree = ["--bodies", bodies * more, "--steps", 2, "--max-bodies", options.choose(100, 10) * more]
    rounds = ["--rounds", options.choose(20, 2) * more]
    seconds, each = "communication_seconds", "communication_seconds_per_repetition"
    programs = [
        ProgramInTurn("lcc", graph, each) if place.network == "shm" else Program("lcc", graph, seconds),
        ProgramInTurn("lcc", locks, each, "lcc, a lock for each get"),
        Program("barnes_hut", tree, "force_seconds_per_body"),
        Program("nearby", rounds, seconds),
    ]
    if not is_built(place.family, "coarray_transpose_in_turn"):
        return programs
    columns = ["--columns", options.choose(40, 10) * (10 if more > 1 else 1)]
    each = "communication_seconds_per_round"
    return [*programs, ProgramInTurn("coarray_transpose", columns, each, repeats="--rounds")]


def _what(row: Row) -> str:
    return " ".join(filter(None, (row["what"], row["network"], row["window"])))


def _claims(rows: list[Row]) -> list[Claim]:
    """One for each network: the worst, how many are below, and which."""
    claims = []
    for network in dict.fromkeys(row["network"] for row in rows):
        here = sorted((row for row in rows if row["network"] == network), key=lambda row: row["ratio"])
        below = [row for row in here if row["ratio"] < NEVER_SLOWER]
        first = sum(row["first_ratio"] < NEVER_SLOWER for row in here)
        counting = sum(row["counting_ratio"] < NEVER_SLOWER for row in below)
        counts = f"{len(below)} are below twice, {first} at first"
        if below:
            counts += f"; in {counting} of them a library is, too, that only counts the calls it passes on"
        text = f"{network}: plain time over nearfetch's, the worst of {len(here)} ({counts})"
        named = "; ".join(f"{row['ratio']:.3g}: {_what(row)}" for row in below or here[:1])
        claims.append(Claim.at_least(text, NEVER_SLOWER, here[0]["ratio"], "times", named))
    return claims


def plot(report: Report, path: Path) -> None:
    """One panel per network and kind of window: the ratios, with quartiles; those below the limit in red."""
    labels = list(dict.fromkeys((row["network"], row["window"]) for row in report.rows if row["window"]))
    figure, axes = plots.panels(len(labels), height=4.5)
    for axis, (network, window) in zip(axes, labels):
        rows = [row for row in report.rows if row["network"] == network and row["window"] in (window, "")]
        for place, row in enumerate(rows):
            color = "#1b7837" if row["ratio"] >= NEVER_SLOWER else "#b2182b"
            axis.plot([row["ratio_q1"], row["ratio_q3"]], [place, place], color=color)
            axis.plot(row["ratio"], place, marker="o", markersize=3, color=color)
        axis.axvline(NEVER_SLOWER, color="black", linestyle="--", linewidth=0.8)
        axis.set_yticks(range(len(rows)), [row["what"] for row in rows], fontsize=7)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlabel("plain time over nearfetch's")
        axis.set_title(f"{network} {window}")
    plots.save(figure, path, TITLE)
