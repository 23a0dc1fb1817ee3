# SPDX-License-Identifier: Apache-2.0
"""Starts the SPMD programs of apps/pgas on every transport."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Optional

from conftest import PROGRAMS, TIMEOUT_SECONDS, environment

from nearfetch.mpiexec import mpiexec

ACCESSES = ("--accesses", 1500, "--elements", 200_000)
SMALL: dict[str, tuple[object, ...]] = {
    "copy": ("--elements", 3000),
    "rand_gets": ACCESSES,
    "rand_puts": ACCESSES,
    "prefetch": ACCESSES,
    "ptrans": ("--rows", 70, "--columns", 45),
    "ssca2": ("--scale", 6, "--sources", 5),
    "transpose": ("--order", 37, "--iterations", 3),
    "heat": ("--cells", 10, "--tolerance", 0.09),
    "sobel": ("--rows", 20, "--columns", 30),
    "dgemm": ("--order", 24, "--block", 5),
    "sparse": ("--log-size", 4, "--radius", 2, "--iterations", 3),
    "replicate": ("--order", 30, "--iterations", 3),
    "star": ("--order", 20, "--radius", 7),
    "minimd": ("--size", 3, "--steps", 3),
    "lulesh": ("--size", 4, "--cycles", 5, "--forces", "gather"),
}
"""The programs, with arguments for a short run."""
LAPPS = ("transpose", "heat", "sobel", "dgemm", "sparse", "replicate", "star")
"""Programs with several versions."""
VERSIONS = ("base", "ac", "ac-sd", "mc", "mc-sd", "hand")
VIRTUAL = ("--network", "fdr-ib", "--virtual")


def finish(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def start(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program whose ranks are threads."""
    env = environment(dict(os.environ), PROGRAMS.parent)
    return finish([str(PROGRAMS / "inproc" / name), *map(str, arguments)], env)


def start_mpi(name: str, family: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program on two ranks of an MPI family."""
    launch = mpiexec(family, 2, "shm", dict(os.environ))
    env = environment(launch.env, PROGRAMS.parent, 2)
    return finish([*launch.argv, str(PROGRAMS / family / name), *map(str, arguments)], env)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one line that a good run prints."""
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == 1, done.stdout
    result = json.loads(lines[0])
    assert result["right"] == 1
    return result


def run(name: str, *arguments: object, family: Optional[str] = None) -> dict[str, Any]:
    done = start(name, *arguments) if family is None else start_mpi(name, family, *arguments)
    return report(done)
