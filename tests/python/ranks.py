# SPDX-License-Identifier: Apache-2.0
"""Starts Python programs for tests: alone, or under the mpiexec of an MPI family."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional, Sequence

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))

from launch import environment  # noqa: E402

from nearfetch.mpiexec import mpiexec, without_nearfetch  # noqa: E402

BUILD = Path(os.environ.get("NEARFETCH_BUILD", SOURCE / "build" / "release"))
FAMILIES = ("mpich", "openmpi")


def need_native() -> None:
    """Skips the test where the native module is not built (sanitizers, no nanobind)."""
    if not list((BUILD / "python" / "nearfetch").glob("_native*.so")):
        pytest.skip("the native module is not built")


def need_family(family: str) -> None:
    """Skips the test where nearfetch was built without the family."""
    need_native()
    if not (BUILD / "lib" / f"libnearfetch_python_{family}.so").exists():
        pytest.skip(f"built without {family}")


def run(
    words: Sequence[object],
    family: Optional[str] = None,
    ranks: int = 1,
    before: Sequence[object] = (),
    expect: int = 0,
    network: str = "shm",
    stderr: int = subprocess.PIPE,
) -> str:
    """Runs Python with `words` in every rank, after `before`; returns the output of all."""
    env = {**without_nearfetch(os.environ), "NEARFETCH_BUILD": str(BUILD)}
    env["PYTHONPATH"] = str(SOURCE / "python")
    command = [sys.executable, *(str(word) for word in words)]
    if family:
        launch = mpiexec(family, ranks, network, env)
        command, env = [*launch.argv, *command], environment(launch.env, BUILD, ranks)
        if family == "openmpi":
            # mpi4py would otherwise use the MPICH of its virtual environment.
            env.update(MPI4PY_MPIABI="openmpi", MPI4PY_LIBMPI="libmpi.so.40")
        elif family == "mpiabi":
            env.update(MPI4PY_MPIABI="mpiabi")
    command = [*(str(word) for word in before), *command]
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=150, check=False
    )
    assert (done.returncode == 0) == (expect == 0), (
        f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done.stdout if expect == 0 else done.stdout + done.stderr


def ends_by_interrupt(process: subprocess.Popen[str], folder: Path) -> None:
    """Asserts that Ctrl-C ends a process, once each of its two ranks has made its file in the folder."""
    try:
        end = time.monotonic() + 60
        while not all((folder / str(rank)).exists() for rank in range(2)):
            assert time.monotonic() < end and process.poll() is None, process.communicate()[0]
            time.sleep(0.01)
        time.sleep(0.2)  # from there into it
        process.send_signal(signal.SIGINT)
        # It takes half a second, and longer on a busy machine; nothing else ends it.
        said, _ = process.communicate(timeout=10)
        assert process.returncode != 0, said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
