# SPDX-License-Identifier: Apache-2.0
"""Starts the programs of apps/ for the tests: plain, on the MPI families that were built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path[:0] = [str(TESTS), str(ROOT / "python")]

from launch import sanitizer_environment  # noqa: E402

from nearfetch.launch import mpiexec, without_nearfetch  # noqa: E402

PROGRAMS = Path(os.environ.get("NEARFETCH_PROGRAMS", ROOT / "build" / "release" / "programs"))
FAMILIES = [name for name in ("openmpi", "mpich", "mpiabi") if (PROGRAMS / name / "lcc").exists()]
"""The families whose programs were built."""
TIMEOUT_SECONDS = 120


class Run(NamedTuple):
    """What one run of a program left."""

    code: int
    results: dict[str, str]
    """The `name value` lines."""
    json: dict[str, Any]
    stderr: str


class Starter:
    """Starts one program on a family and a number of ranks."""

    def __init__(self, program: str, scratch: Path) -> None:
        self._program = program
        self._json = scratch / "results.json"

    def __call__(
        self, *arguments: object, family: str = FAMILIES[0] if FAMILIES else "", ranks: int = 1
    ) -> Run:
        """Runs it, whatever the exit code; results are empty unless it is 0."""
        launch = mpiexec(family, ranks, "shm", without_nearfetch(os.environ))
        env = sanitizer_environment(launch.env, PROGRAMS.parent)
        command = [*launch.argv, str(PROGRAMS / family / self._program), *map(str, arguments)]
        if "--json" not in arguments:
            self._json.unlink(missing_ok=True)
            command += ["--json", str(self._json)]
        code, stdout, stderr = _finish(command, env)
        if code != 0:
            return Run(code, {}, {}, stderr)
        results = dict(line.split(" ", 1) for line in stdout.splitlines())
        written = json.loads(self._json.read_text()) if "--json" not in arguments else {}
        return Run(0, results, written, stderr)

    def good(self, *arguments: object, **where: Any) -> Run:
        """Runs it and insists on exit code 0."""
        run = self(*arguments, **where)
        assert run.code == 0, run.stderr
        return run


def _finish(command: list[str], env: dict[str, str]) -> tuple[int, str, str]:
    """Exit code and output of `command`; at the time limit the test fails and the launcher ends its ranks."""
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            stdout, stderr = process.communicate()
            pytest.fail(f"still running after {TIMEOUT_SECONDS} s: {' '.join(command)}\n{stderr}")
    return process.returncode, stdout, stderr


@pytest.fixture
def lcc(tmp_path: Path) -> Starter:
    """Starts lcc."""
    return Starter("lcc", tmp_path)


@pytest.fixture
def barnes_hut(tmp_path: Path) -> Starter:
    """Starts barnes_hut."""
    return Starter("barnes_hut", tmp_path)


@pytest.fixture(scope="session")
def real_graph() -> Path:
    """The graph that comes with the project."""
    return ROOT / "data" / "musae-github-edges.csv.gz"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with an argument `family` on the MPI libraries there are, with `any_family` on all builds.

    The standard ABI's build runs on the library of another family: what differs is seen in few tests.
    """
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", [name for name in FAMILIES if name != "mpiabi"])
    if "any_family" in metafunc.fixturenames:
        metafunc.parametrize("any_family", FAMILIES)
