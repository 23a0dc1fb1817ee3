# SPDX-License-Identifier: Apache-2.0
"""Runs a program that prints what its MPI calls returned, plain and in each mode: the lines must be the same.

What an MPI library answers to an erroneous call is its own choice, so no list of right answers exists; that
of the same library without nearfetch is what counts. Every target is cached (`bypass=off`), so that what
nearfetch would answer in the library's place is seen.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

from launch import environment

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

SETTINGS: dict[str, tuple[str, dict[str, object]]] = {
    **{mode: (mode, {}) for mode in ("off", "transparent", "acquire", "always-cache", "user-defined")},
    "acquire, locks=access": ("acquire", {"locks": "access"}),
}
"""Mode and settings, by the name that is printed."""


def main() -> int:
    """Compares; the exit code is 0 if all modes answer as the library does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    good = True
    for ranks in options.ranks:
        plain = answers(options, ranks, None)
        if plain is None:
            good = False
            continue
        for mode in SETTINGS:
            seen = answers(options, ranks, mode)
            if seen is None:
                good = False
                continue
            changes = [
                line
                for line in difflib.unified_diff(plain, seen, lineterm="", n=0)
                if not line.startswith(("@@", "---", "+++"))
            ]
            print(f"{options.family}, {ranks} ranks, {mode}: {len(seen)} answers,", end=" ")
            print(
                "as without nearfetch" if not changes else f"{len(changes)} lines differ (- plain, + {mode}):"
            )
            # All ranks do the same: what the first saw is enough to read.
            print(
                "".join(f"  {line}\n" for line in changes if line[1:].startswith("rank 0:")),
                end="",
                flush=True,
            )
            good = good and not changes
    return 0 if good else 1


def answers(options: argparse.Namespace, ranks: int, mode: str | None) -> list[str] | None:
    """The lines `rank N: ...` of one run; None if it did not come to a good end or said nothing."""
    launch = mpiexec(options.family, ranks, "shm", without_nearfetch(os.environ))
    command = [*launch.argv, *options.program]
    if mode is not None:
        run_mode, settings = SETTINGS[mode]
        settings = {"bypass": "off", **settings}
        command = nearfetch_run(options.build, run_mode, settings, family=options.family) + command
    name = f"{options.family}, {ranks} ranks, {mode or 'plain'}"
    try:
        done = subprocess.run(
            command,
            env=environment(launch.env, options.build, ranks),
            capture_output=True,
            text=True,
            timeout=options.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"{name}: no end within {options.timeout:g} s")
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("rank ")]
    if done.returncode != 0 or not lines:
        print(
            f"{name}: exit code {done.returncode}, {len(lines)} answers\n"
            f"{done.stdout[-2000:]}{done.stderr[-3000:]}"
        )
        return None
    return lines


if __name__ == "__main__":
    sys.exit(main())
