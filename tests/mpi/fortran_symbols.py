#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No Fortran name by which an interposed call can be reached goes past nearfetch.

MPI's Fortran libraries export each call under several names: for mpif.h, for mpi_f08, for large counts. Of
each name of a call that calls.txt has wrapped or interposed, either the interposer exports it too, or the
library's own function of that name calls MPI_X in turn, as its machine code tells, and so meets the
interposer there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "mpi" / "wrappers"
sys.path.insert(0, str(SOURCE))

import calls  # noqa: E402

_JUMP = re.compile(r"^ *([0-9a-f]+):\t(call|jmp)q? +([0-9a-f]+) <([^>]+)>", re.MULTILINE)

EXCEPTIONS: dict[str, dict[str, str]] = {"openmpi": {}, "mpich": {}}
"""By family, the names that go past nearfetch, and why that does not matter."""


def main() -> int:
    """Prints the names that go past nearfetch; 1 if these are not those of EXCEPTIONS."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--family", required=True)
    parser.add_argument("--library", type=Path, required=True, help="the interposer")
    parser.add_argument("--program", type=Path, required=True, help="a Fortran program")
    options = parser.parse_args()
    ours = set(defined(options.library).values())
    table = calls.read_table(SOURCE / "calls.txt")
    needed = {name.lower(): name for name, kind in table.items() if kind in ("returns", "flag", "own")}
    wrapped, forwarded, past, without = set(), set(), set(), 0
    for library in fortran_libraries(options.program):
        code = Code(library)
        for symbol in code.symbols:
            call = call_of(symbol, needed)
            if call is None:
                continue
            in_c = code.reaches(symbol, {f"MPI_{call}", f"MPI_{call}_c"})
            if symbol in ours:
                wrapped.add(symbol)
                without += not in_c
            else:
                (forwarded if in_c else past).add(symbol)
    calls_seen = {call_of(symbol, needed) for symbol in wrapped | forwarded}
    print(f"{len(calls_seen)} calls: {len(wrapped)} names are nearfetch's own, {len(forwarded)} end in C")
    print(f"{without} would go past nearfetch without its own")
    known = set(EXCEPTIONS[options.family])
    problems = [f"{name} goes past nearfetch" for name in sorted(past - known)]
    problems += [f"{name} does not go past nearfetch: it is no exception" for name in sorted(known - past)]
    print("\n".join(problems))
    return 1 if problems or without < 50 or len(calls_seen) < 100 else 0


def call_of(symbol: str, needed: dict[str, str]) -> str | None:
    """The call of those `needed`, by their names in small letters, that a Fortran name belongs to."""
    match = re.fullmatch(r"mpi_(\w*?[a-z0-9])((?:_(?:c|f08|f08ts|f|cptr|large|nonoverlap))*)_", symbol)
    return needed.get(match[1]) if match else None


def fortran_libraries(program: Path) -> list[Path]:
    """The libraries of `program` that have MPI's Fortran names."""
    lines = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    paths = [Path(path) for path in re.findall(r"=> (/\S+)", lines)]
    return [
        path
        for path in paths
        if {"mpi_recv_", "mpi_recv_f08_", "mpi_recv_f08ts_"} & set(defined(path).values())
    ]


def defined(library: Path) -> dict[tuple[str, str], str]:
    """The names of the functions that a library exports, by their address and name."""
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in lines.splitlines():
        address, kind, name = line.split()
        if kind in "TtWw":
            name = name.split("@")[0]
            found[address, name] = name
    return found


class Code:
    """Which function of a library calls which, by its machine code."""

    def __init__(self, library: Path) -> None:
        names = defined(library)
        self.symbols = sorted(set(names.values()))
        self._address = {name: int(address, 16) for (address, name) in names}
        dump = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", str(library)], capture_output=True, text=True, check=True
        ).stdout
        jumps = []
        starts = set(self._address.values())
        for at, kind, to, name in _JUMP.findall(dump):
            # An exported function is called through a stub, which has its name.
            outside = name.split("@")[0] if "@plt" in name else ""
            target = self._address.get(outside) or outside or int(to, 16)
            jumps.append((int(at, 16), target))
            if kind == "call" and not outside:
                starts.add(target)
        # A function goes on to where the next one begins. Those without a name are called by others.
        self._starts = sorted(starts)
        self._calls: dict[int, set[int | str]] = defaultdict(set)
        for at, target in jumps:
            self._calls[self._function(at)].add(target)

    def _function(self, address: int) -> int:
        return self._starts[max(bisect_right(self._starts, address) - 1, 0)]

    def reaches(self, symbol: str, wanted: set[str]) -> bool:
        """Whether the function of that name calls one of `wanted`, itself or through others."""
        waiting: list[int | str] = [self._address[symbol]]
        seen = set()
        while waiting:
            place = waiting.pop()
            if place in wanted:
                return True
            here = self._function(place) if isinstance(place, int) else None
            if here is not None and here not in seen:
                seen.add(here)
                waiting += self._calls[here]
        return False


if __name__ == "__main__":
    sys.exit(main())
