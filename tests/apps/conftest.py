# SPDX-License-Identifier: Apache-2.0
"""Starts the programs of apps/ plain or under nearfetch, on the MPI families that were built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence, Union

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path[:0] = [str(TESTS), str(ROOT), str(ROOT / "python")]

from launch import environment  # noqa: E402

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch  # noqa: E402

PROGRAMS = Path(os.environ.get("NEARFETCH_PROGRAMS", ROOT / "build" / "release" / "programs"))
FAMILIES = [name for name in ("openmpi", "mpich", "mpiabi") if (PROGRAMS / name / "lcc").exists()]
"""The families whose programs were built."""
SAMPLE_STORE = ROOT / "apps" / "python" / "sample_store.py"
NEARFETCH = [sys.executable, str(PROGRAMS.parent / "bin" / "nearfetch")]
"""The command `nearfetch` of this build."""
TIMEOUT_SECONDS = 120


class Run(NamedTuple):
    """Results of a run."""

    code: int
    results: dict[str, str]
    """The `name value` lines."""
    json: dict[str, Any]
    stderr: str
    windows: list[list[dict[str, Any]]]
    """nearfetch's report on each rank's windows; empty for a plain run."""

    @property
    def counters(self) -> list[Counter[str]]:
        """nearfetch's counters of each rank, summed over its windows."""
        sums = []
        for windows in self.windows:
            total: Counter[str] = Counter()
            for window in windows:
                total.update({name: value for name, value in window.items() if isinstance(value, int)})
            sums.append(total)
        return sums


class Starter:
    """Starts one program on a family and a number of ranks."""

    def __init__(self, program: Union[str, Path], scratch: Path, network: str = "shm") -> None:
        """`program` is the name of one that was built, or the path of a Python script."""
        self._program = program
        self.network = network
        self._json = scratch / "results.json"
        self._stats = scratch / "stats"

    def __call__(
        self,
        *arguments: object,
        family: str = FAMILIES[0] if FAMILIES else "",
        ranks: int = 1,
        mode: Optional[str] = None,
        settings: Optional[dict[str, object]] = None,
        before: Sequence[str] = (),
    ) -> Run:
        """Runs it, under nearfetch if `mode` names one, with any exit status; results are empty unless it is
        0. A plain run may have words `before` its command."""
        launch = mpiexec(family, ranks, self.network, without_nearfetch(os.environ))
        env = environment(launch.env, PROGRAMS.parent, ranks)
        # Open MPI waits a second before it ends the other ranks. Here all output is complete when a rank
        # fails.
        env["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
        if family == "openmpi":
            # mpi4py would otherwise use the MPICH of its virtual environment.
            env.update(MPI4PY_MPIABI="openmpi", MPI4PY_LIBMPI="libmpi.so.40")
        command = [*launch.argv, *self._words(family), *map(str, arguments)]
        command = [*before, *command]
        if mode is not None:
            shutil.rmtree(self._stats, ignore_errors=True)
            command = nearfetch_run(PROGRAMS.parent, mode, settings, self._stats, family) + command
        if "--json" not in arguments:
            self._json.unlink(missing_ok=True)
            command += ["--json", str(self._json)]
        code, stdout, stderr = finish(command, env)
        if code != 0:
            return Run(code, {}, {}, stderr, [])
        results = dict(line.split(" ", 1) for line in stdout.splitlines())
        written = json.loads(self._json.read_text()) if "--json" not in arguments else {}
        return Run(0, results, written, stderr, [] if mode is None else self._windows(ranks))

    def _words(self, family: str) -> list[str]:
        """What a rank runs."""
        if isinstance(self._program, Path):
            return [sys.executable, str(self._program)]
        return [str(PROGRAMS / family / self._program)]

    def _windows(self, ranks: int) -> list[list[dict[str, Any]]]:
        """Reports of each rank; every rank has at least one."""
        files = [self._stats / f"rank-{rank}.json" for rank in range(ranks)]
        assert set(self._stats.iterdir()) == set(files)
        return [json.loads(file.read_text(encoding="utf-8"))["windows"] for file in files]

    def good(self, *arguments: object, **where: Any) -> Run:
        """Runs it and asserts exit status 0."""
        run = self(*arguments, **where)
        assert run.code == 0, run.stderr
        return run


def assert_refused(run: Run, program: str, said: str) -> None:
    """A bad command line got one message, which says what, why, and what to do."""
    assert run.code == 2
    lines = [line for line in run.stderr.splitlines() if line.startswith(program)]
    assert len(lines) == 1
    assert said in lines[0] and " (" in lines[0] and "): " in lines[0]


def finish(command: list[str], env: dict[str, str]) -> tuple[int, str, str]:
    """Exit status and output of `command`; at the time limit the test fails and its ranks are ended."""
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
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


@pytest.fixture
def nearby(tmp_path: Path) -> Starter:
    """Starts nearby."""
    return Starter("nearby", tmp_path)


@pytest.fixture
def hash_table(tmp_path: Path) -> Starter:
    """Starts hash_table."""
    return Starter("hash_table", tmp_path)


@pytest.fixture
def coarray_transpose(tmp_path: Path) -> Starter:
    """Starts coarray_transpose, which exists if there are coarrays over Open MPI."""
    if not (PROGRAMS / "openmpi" / "coarray_transpose").exists():
        pytest.skip("no coarray_transpose (OpenCoarrays was not found)")
    # Over shared memory Open MPI refuses OpenCoarrays' window with a single image.
    return Starter("coarray_transpose", tmp_path, "tcp")


@pytest.fixture(params=["assimilation", "assimilation_fortran"])
def assimilation(request: pytest.FixtureRequest, tmp_path: Path) -> Starter:
    """Starts assimilation, in C++ or in Fortran where the family that the test asks for has Fortran."""
    family = request.getfixturevalue("family") if "family" in request.fixturenames else FAMILIES[0]
    if not (PROGRAMS / family / request.param).exists():
        pytest.skip(f"no {request.param} (the MPI family {family} has no Fortran)")
    return Starter(request.param, tmp_path)


@pytest.fixture
def sample_store(tmp_path: Path) -> Starter:
    """Starts sample_store."""
    return Starter(SAMPLE_STORE, tmp_path)


@pytest.fixture(scope="session")
def real_graph() -> Path:
    """The graph that comes with the project."""
    return ROOT / "data" / "musae-github-edges.csv.gz"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with the argument `family` on the installed MPI libraries, with `any_family` on all builds.

    The standard ABI's build runs on another family's library, so few tests need it.
    """
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", [name for name in FAMILIES if name != "mpiabi"])
    if "any_family" in metafunc.fixturenames:
        metafunc.parametrize("any_family", FAMILIES)


@pytest.fixture(scope="session")
def checksums() -> dict[str, str]:
    """The expected result of each SPMD program: its own on one rank, where nothing is remote."""
    from pgas_programs import SMALL, run

    return {name: run(name, *arguments, "--ranks", 1)["checksum"] for name, arguments in SMALL.items()}
