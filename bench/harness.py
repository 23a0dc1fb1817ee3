# SPDX-License-Identifier: Apache-2.0
"""What every benchmark needs: programs run in pairs, statistics, claims, and the JSON they end up in.

A comparison is always paired: its sides take turns (A B A B ...) within one call of `alternate`, so that
whatever else the machine does meets all of them, and a ratio is formed round by round before its median is
taken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, TypeVar

from tqdm import tqdm

from bench import ROOT
from nearfetch.families import decide
from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch
from nearfetch.run import Prepared, with_library

BUILD = Path(os.environ.get("NEARFETCH_BUILD", ROOT / "build" / "release"))
"""The build that is measured; the tests name another one."""
RESULTS = ROOT / "build" / "bench"
GRAPH = ROOT / "data" / "musae-github-edges.csv.gz"

ACCESS_TYPES = (
    "hits",
    "pending_hits",
    "partial_hits",
    "direct",
    "conflicting",
    "capacity",
    "failing",
    "bypassed",
)
"""How a get can go, by the names of the counters; they add up to `gets`."""

NEVER_SLOWER = 0.97
"""What plain time over nearfetch's has to be at least."""

Row = dict[str, Any]
T = TypeVar("T")
K = TypeVar("K", str, tuple[str, str, int])


class BenchError(Exception):
    """A benchmark that could not be measured; the text says why and shows what the program said."""


def positive(text: str) -> int:
    """A number of the command line, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


@dataclass
class Options:
    """What the command line asks of a benchmark."""

    quick: bool = False
    """Smaller parameters: shows that everything runs, not how fast it is."""
    rounds: Optional[int] = None
    """Times that each side of a comparison is run; None: the benchmark's own choice."""
    shown: bool = True
    """Progress on standard error."""

    def choose(self, full: T, quick: T) -> T:
        """`quick` when that is asked for, else `full`."""
        return quick if self.quick else full

    def rounds_or(self, full: int, quick: int) -> int:
        """The number of rounds."""
        return self.rounds or self.choose(full, quick)

    def progress(self, total: int, label: str) -> tqdm:
        """A progress bar of `total` steps."""
        return tqdm(total=total, desc=label, disable=not self.shown, leave=False)


@dataclass
class Claim:
    """A figure to reach, and what was measured."""

    text: str
    target: str
    measured: Optional[float]
    holds: bool
    detail: str = ""
    """Where the measured value comes from, for example the worst pair."""

    @classmethod
    def at_most(cls, text: str, limit: float, measured: float, unit: str = "", detail: str = "") -> Claim:
        """A figure that must not exceed `limit`."""
        return cls(text, f"<= {limit:g} {unit}".rstrip(), _short(measured), measured <= limit, detail)

    @classmethod
    def at_least(cls, text: str, limit: float, measured: float, unit: str = "", detail: str = "") -> Claim:
        """A figure that must reach `limit`."""
        return cls(text, f">= {limit:g} {unit}".rstrip(), _short(measured), measured >= limit, detail)


@dataclass
class Report:
    """What a benchmark hands back."""

    parameters: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    columns: Sequence[str] = ()
    """The columns of `rows` that are printed; empty: all of them."""

    def to_json(self, name: str) -> dict[str, Any]:
        """The document that `./nf bench NAME --json FILE` writes."""
        return {
            "name": name,
            "commit": commit(),
            "machine": machine(),
            "parameters": self.parameters,
            "rows": self.rows,
            "claims": [asdict(claim) for claim in self.claims],
        }


class Side(NamedTuple):
    """One side of a comparison: a program without nearfetch (`mode` None), or with it."""

    mode: Optional[str] = None
    settings: Mapping[str, object] = {}
    interposed: Optional[str] = None
    """Without nearfetch, but under a library of this name that does nothing but pass the calls on, or count
    them, too."""
    counted: bool = True
    """With statistics, for which nearfetch looks at every call: `Outcome.counters`."""


PLAIN = Side()
INTERPOSED = Side(interposed="bare_interposer")
COUNTING = Side(interposed="counting_interposer")
CACHED = Side("always-cache")


class Place(NamedTuple):
    """Where a program runs."""

    family: str = "openmpi"
    ranks: int = 4
    network: str = "tcp"
    bound: bool = False
    """Whether each rank stays on one core."""

    def __str__(self) -> str:
        return f"{self.family} {self.network}"


class Outcome(NamedTuple):
    """What a run left behind."""

    output: str
    counters: list[dict[str, int]]
    """nearfetch's counters of each rank, added up over its windows; empty where nothing was counted."""

    def json_lines(self) -> list[Row]:
        """The lines of the output that are JSON objects."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]

    def total(self, counter: str) -> int:
        """A counter, added up over the ranks."""
        return sum(rank[counter] for rank in self.counters)

    def shares(self, rank: Optional[int] = None) -> dict[str, float]:
        """Each access type as a share of the gets of `rank` (of all ranks)."""
        chosen = self.counters if rank is None else [self.counters[rank]]
        gets = sum(counters["gets"] for counters in chosen)
        return {name: sum(each[name] for each in chosen) / max(gets, 1) for name in ACCESS_TYPES}


def program(family: str, name: str) -> Path:
    """The path of an MPI program of the project.

    Raises BenchError where it was not built.
    """
    return _built(BUILD / "programs" / family / name)


def is_built(family: str, name: str) -> bool:
    """Whether there is an MPI program `name` for `family`: some take what is not on every machine."""
    return (BUILD / "programs" / family / name).is_file()


def core_program(name: str, folder: str = "bench") -> Path:
    """The path of a program of the project that needs no MPI.

    Raises BenchError where it was not built.
    """
    return _built(BUILD / folder / name)


def families() -> list[str]:
    """The MPI libraries that the figures compare, of those that nearfetch was built for."""
    built = [name for name in ("mpich", "openmpi") if (BUILD / "programs" / name / "lcc").exists()]
    if not built:
        raise BenchError(f"no programs in {shown_path(BUILD)} (nearfetch is not built): run ./nf setup")
    return built


def run(
    name: str,
    arguments: Sequence[object],
    place: Place,
    side: Side = PLAIN,
    timeout_s: float = 300.0,
    show_errors: bool = False,
) -> Outcome:
    """Runs the project's MPI program `name` at `place`, and waits for it, as `run_command` does."""
    command = [program(place.family, name), *arguments]
    return run_command(command, place, side, timeout_s, show_errors)


def run_command(
    command: Sequence[object],
    place: Place,
    side: Side = PLAIN,
    timeout_s: float = 300.0,
    show_errors: bool = False,
    more_env: Mapping[str, str] = MappingProxyType({}),
    folder: Optional[Path] = None,
) -> Outcome:
    """Runs a command in each rank at `place`, in `folder` if one is named, and waits for it.

    With `show_errors` its standard error goes to the terminal as it comes. Raises BenchError, with what the
    program said, where it fails or is still running after `timeout_s`.
    """
    environ = {**without_nearfetch(os.environ), **more_env}
    launch = mpiexec(place.family, place.ranks, place.network, environ, bound=place.bound)
    words, env = [*launch.argv, *map(str, command)], launch.env
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        if side.mode is not None:
            stats = scratch if side.counted else None
            words = nearfetch_run(BUILD, side.mode, side.settings, stats, place.family) + words
        elif side.interposed is not None:
            prepared = interposed(words, env, place.family, side.interposed)
            words, env = prepared.command, prepared.environ
        output = execute(words, env, timeout_s, show_errors, folder)
        return Outcome(output, read_counters(Path(scratch)))


def interposed(words: Sequence[str], env: Mapping[str, str], family: str, library: str) -> Prepared:
    """A command of `family` with a library in its ranks that passes calls on, as `Side.interposed` has it.

    Raises BenchError where it was not built.
    """
    path = _built(BUILD / "bench" / f"{library}_{family}.so")
    return with_library(path, words, decide(words, env, family), {}, env)


def execute(
    words: Sequence[str],
    env: Optional[Mapping[str, str]] = None,
    timeout_s: float = 300.0,
    show_errors: bool = False,
    folder: Optional[Path] = None,
) -> str:
    """The standard output of a command. Raises BenchError as `run_command` does."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            words,
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if show_errors else errors,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout_s)
            problem = f"exit code {process.returncode}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            output, problem = "", f"still running after {timeout_s:g} s"
        finally:
            _end(process)
        if not problem:
            return output
        errors.seek(0)
        said = "\n".join((output + errors.read()).splitlines()[-25:])
    raise BenchError(f"a program failed ({problem}): {_shown_command(words)}\n{said}".rstrip())


def read_counters(folder: Path) -> list[dict[str, int]]:
    """The counters that the ranks wrote to `folder`, each rank's added up over its windows."""
    ranks = []
    while (path := folder / f"rank-{len(ranks)}.json").exists():
        windows = json.loads(path.read_text(encoding="utf-8"))["windows"]
        numbers = [
            {k: v for k, v in window.items() if isinstance(v, int) and k not in ("windows", "ranks")}
            for window in windows
        ]
        ranks.append({name: sum(window[name] for window in numbers) for name in (numbers or [{}])[0]})
    return ranks


def alternate(
    sides: Mapping[K, Callable[[], T]], rounds: int, options: Options, label: str
) -> dict[K, list[T]]:
    """Calls the sides in turn, `rounds` times; the results by side, in the order of the rounds.

    Every other round goes through the sides backwards, so that none of them is always the first.
    """
    results: dict[K, list[T]] = {name: [] for name in sides}
    with options.progress(rounds * len(sides), label) as bar:
        for number in range(rounds):
            order = list(sides.items())
            for name, call in order if number % 2 == 0 else reversed(order):
                bar.set_postfix_str(name if isinstance(name, str) else " ".join(map(str, name)))
                results[name].append(call())
                bar.update()
    return results


def twice(rows: list[Row], again: Callable[[list[Row]], list[Row]]) -> list[Row]:
    """Measures once more what came out below NEVER_SLOWER, and lets that count: of hundreds of pairs some are
    below by chance.

    `again` takes these rows and gives new ones, in their order. What came out at first stays in each row, as
    `first_ratio`. The library that only passes calls on has the same chance.
    """
    below = [row for row in rows if min(row["ratio"], row["interposed_ratio"]) < NEVER_SLOWER]
    anew = iter(again(below) if below else ())
    return [
        {**(next(anew) if any(row is one for one in below) else row), "first_ratio": row["ratio"]}
        for row in rows
    ]


class Spread(NamedTuple):
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    @classmethod
    def in_row(cls, row: Row, name: str) -> Spread:
        """What `columns(name)` put into a row."""
        return cls(row[name], row[f"{name}_q1"], row[f"{name}_q3"])

    @classmethod
    def of_ratios(cls, numerators: Sequence[float], denominators: Sequence[float]) -> Spread:
        """The spread of the ratios of what was measured in the same round."""
        return cls.of([a / b for a, b in zip(numerators, denominators) if b])

    def columns(self, name: str) -> Row:
        """As columns of a row."""
        return {name: _short(self.median), f"{name}_q1": _short(self.low), f"{name}_q3": _short(self.high)}


def commit() -> str:
    """The commit that is measured; it ends in -changed where the tree differs from it."""
    if not (ROOT / ".git").exists():
        return "unknown"
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if known.returncode != 0:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], check=False).returncode != 0
    return known.stdout.strip() + ("-changed" if changed else "")


def machine() -> dict[str, Any]:
    """What the figures depend on; nothing that names the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = models[0] if models else cpu
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory_bytes / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _built(path: Path) -> Path:
    if not path.is_file():
        raise BenchError(f"no program {shown_path(path)} (it is not built): run ./nf setup")
    return path


def shown_path(path: Path) -> str:
    """`path` as a user of the source tree would write it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _shown_command(words: Sequence[str]) -> str:
    return " ".join(shown_path(Path(word)) if word.startswith("/") else word for word in words)


def _end(process: subprocess.Popen) -> None:
    """Ends the launcher where it still runs; launchers end their ranks when they are asked to."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _short(value: float) -> float:
    """Five significant digits: more would only pretend."""
    return float(f"{value:.5g}")
