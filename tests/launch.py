#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of one MPI test, with or without nearfetch, and ends with their exit code.

Mode `plain` runs without nearfetch, and mode `record` under the recorder; what that has written has to be
such that `nearfetch advise` can read it. At the time limit all processes of the test are ended: exit code
124. Sanitized builds get their options here: MPI libraries leave memory behind, which is not ours to report.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS.parent / "python"))

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch  # noqa: E402

_MARK = "NF_TEST_RUN"
_TIMED_OUT = 124


def main() -> int:
    """Runs the test of the command line."""
    options = _options()
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    launch = mpiexec(
        options.family, options.ranks, options.network, without_nearfetch(os.environ), options.launcher
    )
    command = [*launch.argv, *program]
    env = {**environment(launch.env, options.build, options.ranks), _MARK: uuid.uuid4().hex}
    env["NEARFETCH_PROGRAMS"] = str(options.build / "programs")
    env["NEARFETCH_BUILD"] = str(options.build)
    if options.mode == "record":
        return record(options, command, env)
    if options.mode != "plain":
        settings = dict(word.split("=", 1) for word in options.set)
        command = nearfetch_run(options.build, options.mode, settings, family=options.family) + command
    print("+", " ".join(command), flush=True)
    return run(command, env, options.timeout)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--mode", default="plain")
    parser.add_argument("--network", default="shm")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds")
    parser.add_argument("--launcher", help="a launcher in place of the family's own")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args()


def record(options: argparse.Namespace, command: list[str], env: dict[str, str]) -> int:
    """Runs `command` under the recorder, and reads what was recorded."""
    nearfetch = [sys.executable, str(options.build / "bin" / "nearfetch")]
    with tempfile.TemporaryDirectory(prefix="nearfetch-record-") as folder:
        words = [*nearfetch, "record", "-o", folder, "--mpi", options.family, "--", *command]
        print("+", " ".join(words), flush=True)
        status = run(words, env, options.timeout)
        return status or run([*nearfetch, "advise", folder], env, options.timeout)


def run_quietly(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs it to its end, for two minutes at most, and keeps what it says."""
    return subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def environment(env: dict[str, str], build: Path, ranks: int = 1) -> dict[str, str]:
    """`env` with what tests of `ranks` ranks need: a quick start, progress where ranks outnumber cores, and
    the sanitizers' options. What is in `env` already stays."""
    # At each start Open MPI 4.1 asks libfabric for networks (0.2 s), to take ob1 in the end.
    added = {"OMPI_MCA_pml": "^cm"}
    if ranks > (os.cpu_count() or 1):
        # MPICH's ranks poll for their whole time slice, and its collectives over shared memory crawl.
        added["MPIR_CVAR_DEVICE_COLLECTIVES"] = "none"
        added["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"
        added["MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"] = "64"
    return {**added, **_sanitizer_environment(env, build)}


def sanitizers(build: Path) -> str:
    """The sanitizers of the build folder `build`, as the compiler is told; empty where it has none."""
    cache = build / "CMakeCache.txt"
    text = cache.read_text(encoding="utf-8") if cache.exists() else ""
    found = re.search(r"^NEARFETCH_SANITIZE:\w+=(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _sanitizer_environment(env: dict[str, str], build: Path) -> dict[str, str]:
    """`env` with what the sanitizers of the build folder `build` need; `env` itself where it has none."""
    chosen = sanitizers(build)
    if not chosen:
        return env
    suppressions = TESTS / "tsan.supp"
    added = {
        # A quarantine of freed memory would look like growth to the tests that watch it.
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=4",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": f"suppressions={suppressions}:ignore_noninstrumented_modules=1:history_size=4",
    }
    # MPICH's UCX tries whether it can read another process's memory: into the vector that says where to. On
    # the rare occasion that it can, the address sanitizer follows what is left of that.
    if "address" in chosen:
        added["UCX_TLS"] = "^cma"
    # UCX is told when memory goes, also by threads that are no longer the thread sanitizer's: a crash.
    if "thread" in chosen:
        # Open MPI turns these events on by itself.
        added |= {"UCX_MEM_EVENTS": "n", "OMPI_MCA_pml": "^cm,ucx", "OMPI_MCA_osc": "^ucx"}
    return {**added, **env}


def run(command: list[str], env: dict[str, str], timeout_s: float) -> int:
    """Runs `command`; returns its exit code, 128 + N for signal N, or 124 at the time limit."""
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        status = process.wait(timeout_s)
        return 128 - status if status < 0 else status
    except subprocess.TimeoutExpired:
        print(f"launch.py: still running after {timeout_s:g} s: ending it", file=sys.stderr)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        return _TIMED_OUT
    finally:
        _end_marked(env[_MARK])


def _end_marked(mark: str) -> None:
    """Ends what is left of the test, told by the mark: launchers put ranks into sessions of their own."""
    for _ in range(20):
        left = [int(folder.name) for folder in Path("/proc").iterdir() if _is_marked(folder, mark)]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _is_marked(folder: Path, mark: str) -> bool:
    if not folder.name.isdigit() or int(folder.name) == os.getpid():
        return False
    try:
        return f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
