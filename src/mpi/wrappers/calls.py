#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes from calls.txt, for one MPI, the wrappers of the calls that acquire.

The parameters come from the prototypes in the preprocessed mpi.h. The compiler that translates the wrappers
compares both. Fortran passes every argument as an address, and the lengths of texts after them. So a Fortran
wrapper only needs the number of arguments.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path
from typing import NamedTuple, Sequence

KINDS = ("returns", "flag", "request", "own", "no")
_PROTOTYPE = re.compile(
    r"(?:extern )?(?!typedef )[A-Za-z_]\w* MPI_(?P<name>[A-Z]\w*) ?\((?P<parameters>.*)\)$"
)
_COMMA = re.compile(r",(?![^()]*\))")  # not of a parameter that is a function


Table = dict[str, str]
"""What calls.txt says: the kind of each call, by its name without "MPI_"."""


class Prototype(NamedTuple):
    """A call as mpi.h declares it."""

    name: str
    """Without "MPI_"."""
    declared: str
    """The text between the parentheses."""

    @property
    def parameters(self) -> list[str]:
        """Their declarations."""
        parts = (part.strip() for part in _COMMA.split(self.declared))
        return [part for part in parts if part not in ("", "void", "...")]

    @property
    def names(self) -> list[str]:
        """The parameters' names."""
        functions = (re.match(r".*\(\*\s*(\w+)\)", part) for part in self.parameters)
        last_words = (re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", part))[-1] for part in self.parameters)
        return [function[1] if function else word for function, word in zip(functions, last_words)]

    @property
    def texts(self) -> int:
        """How many parameters are text in Fortran."""
        return sum(re.search(r"\bchar\b", part) is not None for part in self.parameters)


def read_table(path: Path) -> Table:
    """Reads calls.txt. Raises ValueError if a line is not as the head of the file says."""
    table: Table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        names, kind = (words[1:], "no") if words[:1] == ["no"] else (words[:1], " ".join(words[1:2]))
        for name in names:
            if kind not in KINDS or name in table:
                raise ValueError(f"{path}: '{line}' ({name} stands there twice, or {kind} is no kind)")
            table[name] = kind
    return table


def header(compiler: Sequence[str], arguments: Sequence[str]) -> str:
    """The text of mpi.h after its preprocessing, without attributes."""
    command = [*compiler, "-E", "-P", "-D__attribute__(x)=", *arguments, "-x", "c", "-"]
    done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    return done.stdout


def prototypes(text: str) -> dict[str, Prototype]:
    """Every function MPI_X that the header declares, by its name without "MPI_"."""
    statements = re.sub(r"\s+", " ", text).split(";")
    matches = (_PROTOTYPE.match(statement.strip()) for statement in statements)
    return {match["name"]: Prototype(match["name"], match["parameters"]) for match in matches if match}


def kind_of(table: Table, name: str) -> str:
    """The kind of a call or of its large-count variant; "" if the table has neither."""
    return table.get(name) or (table.get(name[:-2], "") if name.endswith("_c") else "")


def unknown(table: Table, declared: Sequence[str]) -> list[str]:
    """The calls that mpi.h declares and the table does not know."""
    return sorted(name for name in declared if not kind_of(table, name))


def wrapped(table: Table, declared: dict[str, Prototype]) -> list[Prototype]:
    """The calls that get a wrapper."""
    return [call for name, call in declared.items() if kind_of(table, name) in ("returns", "flag")]


def fortran_names(call: Prototype, family: str) -> list[str]:
    """The Fortran entry points that do not end in the C function (src/mpi/fortran/calls.cpp)."""
    lower = call.name.lower()
    if family == "openmpi":
        return [] if lower.endswith("_c") else [f"mpi_{lower}_", f"mpi_{lower}_f08_"]
    if family != "mpich":
        return []
    # The library's Fortran layer does not count a buffer that MPI hands back. It has a name for large counts.
    if re.fullmatch(r"(\w+_)?(buffer_detach|detach_buffer)(_c)?", lower):
        return [f"mpi_{lower[:-2]}_f08_large_" if lower.endswith("_c") else f"mpi_{lower}_f08_"]
    has_buffer = any(re.fullmatch(r"(const )?void ?\* ?\w+(\[\])?", part) for part in call.parameters)
    return [] if has_buffer or lower.endswith("_c") else [f"mpi_{lower}_f08_"]


def c_wrapper(call: Prototype, kind: str) -> str:
    """The wrapper for C."""
    name, arguments = f"MPI_{call.name}", ", ".join(call.names)
    body = f'const AcquireScope acquires("{name}");\n    return P{name}({arguments});'
    if kind == "flag":
        body = f"""const int outcome = P{name}({arguments});
    if (outcome == MPI_SUCCESS && *flag) acquire_by("{name}");
    return outcome;"""
    return f"int {name}({call.declared}) {{\n    {body}\n}}\n"


def fortran_wrapper(call: Prototype, name: str, kind: str) -> str:
    """The wrapper for one Fortran name."""
    arguments = [f"a{i}" for i in range(len(call.names) + 1 + call.texts)]
    body = f'const AcquireScope acquires("MPI_{call.name}");\n    next({", ".join(arguments)});'
    if kind == "flag":
        flag = f"*static_cast<const MPI_Fint*>({arguments[call.names.index('flag')]})"
        body = f'next({", ".join(arguments)});\n    if ({flag} != 0) acquire_by("MPI_{call.name}");'
    return f"""void {name}({", ".join(f"void* {argument}" for argument in arguments)}) {{
    static const auto next = reinterpret_cast<decltype(&{name})>(next_fortran("{name}"));
    {body}
}}
"""


def source(table: Table, declared: dict[str, Prototype], family: str, scope: str) -> str:
    """The translation unit with all wrappers. The header `scope` has AcquireScope and acquire_by."""
    parts = [
        '// Made by calls.py from calls.txt.\n#include <mpi.h>\n\n#include "mpi/fortran/next_fortran.hpp"\n'
    ]
    parts += [f'#include "{scope}"\n\nusing namespace nearfetch;\n\nextern "C" {{\n']
    for call in wrapped(table, declared):
        kind = kind_of(table, call.name)
        parts.append(c_wrapper(call, kind))
        parts += [fortran_wrapper(call, name, kind) for name in fortran_names(call, family)]
    return "\n".join([*parts, "}\n"])


def main() -> None:
    """Writes the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--scope", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("compile", nargs="+", help="-- compiler and options")
    options = parser.parse_args()
    declared = prototypes(header(options.compile[:1], options.compile[1:]))
    text = source(read_table(options.table), declared, options.family, options.scope)
    options.source.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
