# SPDX-License-Identifier: Apache-2.0
"""What every benchmark needs: programs, run in pairs.

A comparison is always interleaved: its sides are called in turn (A B B A ...) within one `alternate`, so that
whatever else the machine does meets all of them. A ratio is formed pair by pair before its median is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Callable, Hashable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar

from tqdm import tqdm

from bench import ROOT
from bench.report import FEWEST_SAMPLES, Row
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

T = TypeVar("T")
N = TypeVar("N", bound=Hashable)
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
    shown: bool = True
    """Progress on standard error."""

    def choose(self, full: T, quick: T) -> T:
        """`quick` when that is asked for, else `full`."""
        return quick if self.quick else full

    def samples(self, full: int) -> int:
        """How often each side is measured: chosen before, and never again for what falls short."""
        assert full >= FEWEST_SAMPLES, "too few for a confidence interval"
        return self.choose(full, 1)

    def progress(self, total: int, label: str) -> tqdm:
        """A progress bar of `total` steps."""
        return tqdm(total=total, desc=label, disable=not self.shown, leave=False)


class Side(NamedTuple):
    """One side of a comparison: a program without nearfetch (`mode` None), or with it."""

    mode: Optional[str] = None
    settings: Mapping[str, object] = {}
    interposed: Optional[str] = None
    """Without nearfetch, but under a library of this name."""
    counted: bool = True
    """With statistics, for which nearfetch looks at every call: `Outcome.counters`."""


PLAIN = Side()
INTERPOSED = Side(interposed="bare_interposer")
"""Under a library that does nothing but pass the calls on (bench/bare_interposer.c)."""
CACHED = Side("always-cache")
AS_001: Mapping[str, object] = {
    "storage": "best_fit",
    "policy": "clampi",
    "exact_match": "on",
    "keep_on_resize": "off",
    "read_ahead_bytes": 0,
}
"""Settings of the paper's own algorithm; of its policies, the full one."""


class Place(NamedTuple):
    """Where a program runs."""

    family: str = "openmpi"
    ranks: int = 4
    network: str = "tcp"

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


def own_program(name: str, folder: str = "bench") -> Path:
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
    launch = mpiexec(place.family, place.ranks, place.network, environ)
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
    sides: Mapping[K, Callable[[], T]], samples: int, options: Options, label: str
) -> dict[K, list[T]]:
    """Calls the sides in turn, `samples` times each; the results by side, in their order.

    Every other turn goes through the sides backwards, so that none of them is always the first.
    """
    results: dict[K, list[T]] = {name: [] for name in sides}
    with options.progress(samples * len(sides), label) as bar:
        for number in range(samples):
            order = list(sides.items())
            for name, call in order if number % 2 == 0 else reversed(order):
                bar.set_postfix_str(name if isinstance(name, str) else " ".join(map(str, name)))
                results[name].append(call())
                bar.update()
    return results


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """What this thread starts meanwhile runs on one core.

    In virtual time one rank runs at a time. Its threads hand over to each other four times as fast there.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def on_all_cores(calls: Mapping[N, Callable[[], T]], options: Options, label: str) -> dict[N, T]:
    """The results of calls whose programs run in virtual time, as many at once as there are cores."""
    cores: SimpleQueue[int] = SimpleQueue()
    for core in os.sched_getaffinity(0):
        cores.put(core)

    def result(call: Callable[[], T]) -> T:
        core = cores.get()
        try:
            with on_core(core):
                return call()
        finally:
            cores.put(core)
            bar.update()

    with options.progress(len(calls), label) as bar, ThreadPoolExecutor(cores.qsize()) as pool:
        futures = {name: pool.submit(result, call) for name, call in calls.items()}
        return {name: future.result() for name, future in futures.items()}


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
