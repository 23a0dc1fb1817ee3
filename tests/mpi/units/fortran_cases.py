#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the Fortran wrappers that calls.py makes from calls.txt, for fortran_calls_test.cpp."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "src" / "mpi" / "wrappers"
sys.path.insert(0, str(SOURCE))

import calls  # noqa: E402


def main() -> None:
    """Writes the list as a header."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--family", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("compile", nargs="+", help="-- compiler and options")
    options = parser.parse_args()
    table = calls.read_table(SOURCE / "calls.txt")
    declared = calls.prototypes(calls.header(options.compile[:1], options.compile[1:]))
    declarations, cases = [], []
    for call in calls.wrapped(table, declared):
        flag = call.names.index("flag") if calls.kind_of(table, call.name) == "flag" else -1
        count = len(call.names) + 1 + call.texts
        for name in calls.fortran_names(call, options.family):
            declarations.append(f"void {name}({', '.join(['void*'] * count)});")
            cases.append(f'    CASE({name}, "MPI_{call.name}", {count}, {flag})')
    text = ['// Made by fortran_cases.py from calls.txt.\nextern "C" {', *declarations, "}"]
    text += ["#define FORTRAN_CASES \\", " \\\n".join(cases), ""]
    options.output.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
