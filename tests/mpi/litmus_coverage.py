#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of calls.txt that acquires has a litmus test that fails without it.

Runs the litmus programs that are linked with the fault-injection build. Each says of which calls it has left
out the acquire, one at a time, and then seen the old value. What calls.txt has beyond that, of the calls of
the mpi.h in use, has to stand in EXCEPTIONS, and nothing else may.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent / "src" / "mpi" / "wrappers"
sys.path.insert(0, str(SOURCE))

import calls  # noqa: E402

PROGRAMS = ("litmus_calls", "litmus_windows", "litmus_polls", "litmus_lines", "litmus_files")

EXCEPTIONS: dict[str, dict[str, str]] = {
    "openmpi": {
        "Comm_join": "it waits for ever on a socket that is none, and real meetings of 4.1 hang at times"
    },
    "mpich": {},
}
"""By family, the calls that cannot be tested there, without "MPI_", and why."""


def main() -> int:
    """Prints what is not covered; 1 if that is not what EXCEPTIONS has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("compile", nargs="+", help="-- compiler and options")
    options = parser.parse_args()
    declared = calls.prototypes(calls.header(options.compile[:1], options.compile[1:]))
    needed = acquiring(declared)
    missed: set[str] = set()
    for program in PROGRAMS:
        found = missed_by(options.build, options.family, program)
        if found is None:
            return 1
        missed |= found
    left = needed - missed
    print(f"{len(needed)} calls acquire; a litmus test fails without each of {len(needed & missed)} of them")
    print("not without:", ", ".join(sorted(left)) or "-")
    problems = [f"MPI_{name} has no litmus test" for name in sorted(left - set(EXCEPTIONS[options.family]))]
    problems += [
        f"MPI_{name} has one, or is no acquire: it is no exception"
        for name in sorted(set(EXCEPTIONS[options.family]) - left)
    ]
    print("\n".join(problems))
    return 1 if problems or len(needed) < 100 else 0


def acquiring(declared: dict[str, calls.Prototype]) -> set[str]:
    """The calls of this MPI whose wrapper acquires, without "MPI_". Large counts go with their call."""
    sources = "".join(path.read_text() for path in SOURCE.glob("*.cpp"))
    # After the end of a process nothing is read.
    by_hand = set(re.findall(r'(?<!write_before_end\()"MPI_(\w+)"', sources))
    kinds = calls.read_table(SOURCE / "calls.txt")
    return {
        name
        for name, kind in kinds.items()
        if name in declared and (kind in ("returns", "flag") or (kind == "own" and name in by_hand))
    }


def missed_by(build: Path, family: str, program: str) -> set[str] | None:
    """The calls that `program` has missed, one at a time; None if it failed."""
    command = [
        sys.executable,
        str(TESTS / "launch.py"),
        f"--build={build}",
        f"--family={family}",
        "--ranks=2",
    ]
    command += ["--timeout=60", "--", str(build / "programs" / family / f"{program}_fault_injection")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, f"{program}_fault_injection failed: {done.returncode}", sep="\n")
        return None
    return set(re.findall(r"^missed: MPI_(\w+)$", done.stdout, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main())
