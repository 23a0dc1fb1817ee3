# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's own RMA tests with and without nearfetch: each test must end the same way.

The tests come from mpi4py's source distribution of the installed version, which pip downloads once into the
build folder. Without it (no network) the suite is skipped: exit code 77. The tests change windows' memory
between epochs and promise nothing, so they run under the modes that ask for no promise.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

MODULES = ("test_request", "test_rma", "test_rma_nb", "test_util_sync", "test_win")
MODES = ("off", "transparent", "acquire")
SKIPPED = 77


def main() -> int:
    """Runs everything, or one rank's part when --rank-part is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path)
    parser.add_argument("--family", choices=("mpich", "openmpi"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--timeout", type=float, default=200.0, help="seconds for one run")
    parser.add_argument("--rank-part", nargs=2, type=Path, metavar=("TESTS", "RESULTS"))
    options = parser.parse_args()
    if options.rank_part:
        return run_rank(*options.rank_part)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    tests = test_folder(options.build)
    if tests is None:
        print("skipped: mpi4py's source distribution cannot be had")
        return SKIPPED
    same = [compare(options, tests, ranks) for ranks in options.ranks]
    return 0 if all(same) else 1


def test_folder(build: Path) -> Path | None:
    """The folder of mpi4py's tests, downloaded if need be."""
    version = importlib.metadata.version("mpi4py")
    cache = build / "mpi4py"
    folder = cache / f"mpi4py-{version}" / "test"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py"]
        done = subprocess.run([*words, "-d", str(cache), f"mpi4py=={version}"], check=False)
        archive = cache / f"mpi4py-{version}.tar.gz"
        if done.returncode != 0 or not archive.exists():
            return None
        with tarfile.open(archive) as tar:
            tar.extractall(cache)
    return folder


def compare(options: argparse.Namespace, tests: Path, ranks: int) -> bool:
    """True if every test of every rank ends the same way plain and under each mode."""
    plain = outcomes(options, tests, ranks, None)
    same = plain is not None
    for mode in MODES if plain is not None else ():
        cached = outcomes(options, tests, ranks, mode)
        if cached is None:
            same = False
            continue
        for rank, (before, after) in enumerate(zip(plain, cached)):
            for name in sorted(before.keys() | after.keys()):
                if before.get(name) != after.get(name):
                    same = False
                    print(
                        f"rank {rank} of {ranks}, {mode}: {name}: "
                        f"plain {before.get(name)}, now {after.get(name)}"
                    )
        print(f"{options.family}, {ranks} ranks, {mode}: {tally(cached)} (plain: {tally(plain)})", flush=True)
    return same


def tally(results: list[dict[str, str]]) -> str:
    """How often each outcome was seen, over all ranks."""
    words = [word for result in results for word in result.values()]
    return ", ".join(f"{words.count(word)} {word}" for word in ("passed", "skipped", "failed"))


def outcomes(
    options: argparse.Namespace, tests: Path, ranks: int, mode: str | None
) -> list[dict[str, str]] | None:
    """What became of each test on each rank; None if the run did not come to its end."""
    from launch import environment

    from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

    launch = mpiexec(options.family, ranks, "shm", without_nearfetch(os.environ))
    env = {**environment(launch.env, options.build, ranks), "PYTHONDONTWRITEBYTECODE": "1"}
    if options.family == "openmpi":  # left to itself mpi4py takes the MPICH of its virtual environment
        env.update(MPI4PY_MPIABI="openmpi", MPI4PY_LIBMPI="libmpi.so.40")
    with tempfile.TemporaryDirectory() as folder:
        command = [*launch.argv, sys.executable, __file__, "--rank-part", str(tests), folder]
        if mode:
            words = nearfetch_run(
                options.build, mode, {"bypass": "off"}, Path(folder) / "stats", options.family
            )
            command = words + command
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=options.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{options.family}, {ranks} ranks, {mode or 'plain'}: no end within {options.timeout:g} s")
            return None
        files = [Path(folder) / f"outcome-{rank}.json" for rank in range(ranks)]
        stats = list(Path(folder).glob("stats/rank-*.json"))
        if not all(file.exists() for file in files) or (mode and len(stats) != ranks):
            print(f"{options.family}, {ranks} ranks, {mode or 'plain'}: exit code {done.returncode}")
            print(done.stderr[-3000:])
            return None
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


class Outcome(unittest.TestResult):
    """Remembers each test by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:
        """The test passed."""
        self.words.setdefault(test.id(), "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """The test was skipped."""
        self.words[test.id()] = "skipped"

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        """An assertion did not hold."""
        super().addFailure(test, err)
        self.words[test.id()] = "failed"

    def addError(self, test: unittest.TestCase, err: object) -> None:
        """The test raised something."""
        super().addError(test, err)
        self.words[test.id()] = "failed"

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        """A part of a test ended; `err` is None if it passed."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.words[test.id()] = "failed"


def run_rank(tests: Path, results: Path) -> int:
    """Runs the tests in this process and writes what became of them."""
    sys.path.insert(0, str(tests))
    from mpi4py import MPI

    suite = unittest.defaultTestLoader.loadTestsFromNames(MODULES)
    outcome = Outcome()
    suite.run(outcome)
    for test, trace in outcome.failures + outcome.errors:
        print(f"{test.id() if hasattr(test, 'id') else test}: {trace}", file=sys.stderr)
    rank = MPI.COMM_WORLD.Get_rank()
    (results / f"outcome-{rank}.json").write_text(json.dumps(outcome.words), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
