#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares calls.txt with the mpi.h in use and with the interposer that was built.

Every MPI_X of the header has to be in the table, so that a new call of a new MPI cannot slip through; and
every call that the table says is interposed has to be exported. Calls that are told to be in one line of the
instruction cache (NEARFETCH_IN_LINE) are, where the library is optimised. The library's functions are looked
for when they are first called, as libmpi may be loaded after the interposer (src/mpi/mpi_library.cpp).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "mpi" / "wrappers"
sys.path.insert(0, str(SOURCE))

import calls  # noqa: E402


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--family", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("compile", nargs="+", help="-- compiler and options")
    options = parser.parse_args()
    compiler, arguments = options.compile[:1], options.compile[1:]
    table = calls.read_table(SOURCE / "calls.txt")
    text = calls.header(compiler, arguments)
    declared = calls.prototypes(text)
    problems = [
        f"MPI_{name} is not in calls.txt (mpi.h declares it): add it, as acquiring or as not"
        for name in calls.unknown(table, list(declared))
    ]
    problems += unread(text, declared)
    addresses = exported(options.library)
    problems += not_exported(table, declared, options.family, set(addresses), options.library)
    if options.family != "openmpi":
        problems += found_too_early(options.library)
    if not notices_a_new_call(compiler, arguments, table):
        problems.append("a call that is new in mpi.h would not be noticed (calls.py did not read it)")
    print(f"{len(declared)} calls in mpi.h, {len(calls.wrapped(table, declared))} wrappers")
    for problem in problems:
        print(problem)
    return 1 if problems or len(declared) < 300 else 0


def unread(text: str, declared: dict[str, calls.Prototype]) -> list[str]:
    """Calls of which mpi.h has the PMPI name, while calls.py did not recognise the prototype."""
    profiled = set(re.findall(r"\bPMPI_(\w+)\s*\(", text))
    return [f"MPI_{name} was not read from mpi.h" for name in sorted(profiled - set(declared))]


def exported(library: str) -> dict[str, int]:
    """What the library exports, and where it is."""
    command = ["nm", "-D", "--defined-only", library]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = (line.split() for line in output.splitlines())
    return {name: int(address, 16) for address, _, name in symbols}


def not_exported(
    table: calls.Table, declared: dict[str, calls.Prototype], family: str, defined: set[str], library: str
) -> list[str]:
    """Interposed calls that the library lacks."""
    wanted = {f"MPI_{name}" for name in declared if calls.kind_of(table, name) in ("returns", "flag", "own")}
    for call in calls.wrapped(table, declared):
        wanted |= set(calls.fortran_names(call, family))
    return [f"{name} is not exported by {Path(library).name}" for name in sorted(wanted - defined)]


def found_too_early(library: str) -> list[str]:
    """Functions of MPI whose address the loader needs when it loads the interposer."""
    output = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in output.splitlines() if " PMPI_" in line]
    # One of which nothing but that address is used, and which is never called.
    early = {line[4] for line in lines if "JUMP_SLO" not in line[2]} - {"PMPI_Get_version"}
    problems = [
        f"{name} is not found if libmpi is loaded later: do not take its address" for name in sorted(early)
    ]
    return problems if lines else [f"readelf shows no call of PMPI in {library}"]


def notices_a_new_call(compiler: list[str], arguments: list[str], table: calls.Table) -> bool:
    """Whether a header with one more call has one more unknown call."""
    with tempfile.TemporaryDirectory() as folder:
        text = (
            "#include_next <mpi.h>\nint MPI_Learn_all(MPI_Comm comm, void (*told)(int, int), int news[]);\n"
        )
        (Path(folder) / "mpi.h").write_text(text, encoding="utf-8")
        declared = calls.prototypes(calls.header(compiler, ["-I", folder, *arguments]))
    return "Learn_all" in calls.unknown(table, list(declared))


if __name__ == "__main__":
    sys.exit(main())
