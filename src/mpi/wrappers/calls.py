#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes from calls.txt, for one MPI, the wrappers of the calls that acquire, and the list of exported names.

The parameters come from the prototypes of the mpi.h in use, after its preprocessing, and the compiler that
translates the wrappers compares both. Fortran passes every argument as an address (and the lengths of texts
behind them), so a Fortran wrapper needs to know no more than how many there are.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path
from typing import NamedTuple, Sequence

KINDS = ("returns", "flag", "request", "own", "no")
_PROTOTYPE = re.compile(
    r"(?:extern )?(?!typedef )(?P<result>[A-Za-z_]\w*) (?P<name>MPI_[A-Z]\w*) ?\((?P<parameters>.*)\)$"
)


class Table(NamedTuple):
    """What calls.txt says."""

    kinds: dict[str, str]
    """Kind by name, without "MPI_"."""
    fortran: list[str]
    """Further Fortran names, without "mpi_" and the last underscore."""


class Prototype(NamedTuple):
    """A call as mpi.h declares it."""

    name: str
    """Without "MPI_"."""
    declared: str
    """The text between the parentheses."""
    names: list[str]
    """The parameters' names."""

    @property
    def texts(self) -> int:
        """How many parameters are text in Fortran."""
        return sum(re.search(r"\bchar\b", text) is not None for text in _split(self.declared))


def read_table(path: Path) -> Table:
    """Reads calls.txt. Raises ValueError for what is not as its head says."""
    kinds: dict[str, str] = {}
    fortran: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "fortran":
            fortran += words[1:]
            continue
        names, kind = (words[1:], "no") if words[0] == "no" else (words[:1], words[1])
        for name in names:
            if kind not in KINDS or name in kinds:
                raise ValueError(f"{path}: '{line}' ({name} stands there twice, or {kind} is no kind)")
            kinds[name] = kind
    return Table(kinds, fortran)


def header(compiler: Sequence[str], arguments: Sequence[str]) -> str:
    """The text of mpi.h after its preprocessing."""
    command = [*compiler, "-E", "-P", *arguments, "-x", "c", "-"]
    done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    return done.stdout


def prototypes(text: str) -> dict[str, Prototype]:
    """Every function MPI_X that the header declares, by its name without "MPI_"."""
    found: dict[str, Prototype] = {}
    for statement in _without_attributes(re.sub(r"\s+", " ", text)).split(";"):
        match = _PROTOTYPE.match(statement.strip())
        if match:
            name = match["name"].removeprefix("MPI_")
            parts = _split(match["parameters"])
            names = [_name_of(part) for part in parts if part not in ("", "void", "...")]
            found[name] = Prototype(name, match["parameters"], names)
    return found


def _without_attributes(text: str) -> str:
    """`text` without __attribute__((...)), whatever parentheses that holds."""
    kept, place = [], 0
    while (start := text.find("__attribute__", place)) >= 0:
        kept.append(text[place:start])
        place = text.index("(", start)
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 1
            if depth == 0:
                break
    return "".join(kept) + text[place:]


def _split(parameters: str) -> list[str]:
    """The parameters of a list, of which some may be functions."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(parameters):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(parameters[start:place].strip())
            start = place + 1
    return [*parts, parameters[start:].strip()]


def _name_of(parameter: str) -> str:
    function = re.match(r".*\(\*\s*(\w+)\)", parameter)
    return function[1] if function else re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", parameter))[-1]


def kind_of(table: Table, name: str) -> str:
    """The kind of a call or of its large-count variant; "" if the table has neither."""
    return table.kinds.get(name) or (table.kinds.get(name[:-2], "") if name.endswith("_c") else "")


def unknown(table: Table, declared: Sequence[str]) -> list[str]:
    """The calls that mpi.h declares and the table does not know."""
    return sorted(name for name in declared if not kind_of(table, name))


def wrapped(table: Table, declared: dict[str, Prototype]) -> list[Prototype]:
    """The calls that get a wrapper."""
    return [call for name, call in declared.items() if kind_of(table, name) in ("returns", "flag")]


def fortran_names(call: Prototype, family: str) -> list[str]:
    """The Fortran entry points that do not end in the C function (fortran_mpich.cpp, fortran_openmpi.cpp)."""
    lower = call.name.lower()
    if family == "openmpi":
        return [] if lower.endswith("_c") else [f"mpi_{lower}_", f"mpi_{lower}_f08_"]
    if family != "mpich":
        return []
    # A buffer that MPI hands back is none to the library's Fortran layer, which has a name for large counts.
    if re.fullmatch(r"(\w+_)?(buffer_detach|detach_buffer)(_c)?", lower):
        return [f"mpi_{lower[:-2]}_f08_large_" if lower.endswith("_c") else f"mpi_{lower}_f08_"]
    has_buffer = any(re.fullmatch(r"(const )?void ?\* ?\w+(\[\])?", text) for text in _split(call.declared))
    return [] if has_buffer or lower.endswith("_c") else [f"mpi_{lower}_f08_"]


def c_wrapper(call: Prototype, kind: str) -> str:
    """The wrapper for C."""
    arguments = ", ".join(call.names)
    if kind == "flag":
        return f"""int MPI_{call.name}({call.declared}) {{
    const int outcome = PMPI_{call.name}({arguments});
    if (outcome == MPI_SUCCESS && *flag) acquire_by("MPI_{call.name}");
    return outcome;
}}
"""
    return f"""int MPI_{call.name}({call.declared}) {{
    const AcquireScope acquires("MPI_{call.name}");
    return PMPI_{call.name}({arguments});
}}
"""


def fortran_wrapper(call: Prototype, name: str, kind: str) -> str:
    """The wrapper for one Fortran name."""
    arguments = [f"a{i}" for i in range(len(call.names) + 1 + call.texts)]
    parameters = ", ".join(f"Argument {argument}" for argument in arguments)
    flag = f"a{call.names.index('flag')}" if kind == "flag" else ""
    before, after = f'const AcquireScope acquires("MPI_{call.name}");', ""
    if kind == "flag":
        before, after = "", f'if (*static_cast<const MPI_Fint*>({flag}) != 0) acquire_by("MPI_{call.name}");'
    return f"""void {name}({parameters}) {{
    static const auto next = reinterpret_cast<void (*)({", ".join(["Argument"] * len(arguments))})>(
        next_fortran("{name}"));
    {before}
    next({", ".join(arguments)});
    {after}
}}
"""


def source(table: Table, declared: dict[str, Prototype], family: str) -> str:
    """The translation unit with all wrappers."""
    parts = ["// Made by calls.py from calls.txt.\n#include <mpi.h>\n\n"]
    parts += ['#include "mpi/fortran/next_fortran.hpp"\n#include "mpi/wrappers/acquire_scope.hpp"\n\n']
    parts += ["using namespace nearfetch;\n\n"]
    parts += ["using Argument [[maybe_unused]] = void*;\n\n", 'extern "C" {\n\n']
    for call in wrapped(table, declared):
        kind = kind_of(table, call.name)
        parts.append(c_wrapper(call, kind) + "\n")
        parts += [fortran_wrapper(call, name, kind) + "\n" for name in fortran_names(call, family)]
    return "".join([*parts, "}\n"])


def exported(table: Table, declared: dict[str, Prototype], family: str) -> list[str]:
    """The names that the interposer exports beside nearfetch's own."""
    names = [f"MPI_{call.name}" for call in wrapped(table, declared)]
    names += [name for call in wrapped(table, declared) for name in fortran_names(call, family)]
    own = [name for name in declared if kind_of(table, name) == "own"]
    names += [f"MPI_{name}" for name in own]
    if family != "mpiabi":
        names += [f"mpi_{name.lower()}{end}" for name in own for end in ("_", "_f08_")]
        names += [f"mpi_{name}_" for name in table.fortran]
    return sorted(names)


def main() -> None:
    """Writes the files that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument("compile", nargs="+", help="-- compiler and options")
    options = parser.parse_args()
    table = read_table(options.table)
    declared = prototypes(header(options.compile[:1], options.compile[1:]))
    options.source.write_text(source(table, declared, options.family), encoding="utf-8")
    names = "".join(f"    {name};\n" for name in exported(table, declared, options.family))
    options.exports.write_text(
        f"{{\n  global:\n    nearfetch_*;\n{names}  local:\n    *;\n}};\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
