# SPDX-License-Identifier: Apache-2.0
"""Reads the words of a command: options of an MPI launcher, and the program that it starts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from nearfetch.launcher_options import CONTAINER_OPTIONS, CONTAINERS, FLUX_VERBS, options_with_values

WRAPPERS = {
    *("env", "time", "nice", "ionice", "timeout", "taskset", "numactl", "setsid", "nohup", "stdbuf", "chrt"),
    *("valgrind", "gdb", "strace", "ltrace", "catchsegv", "xterm", "hwloc-bind"),
}
"""Programs that start the program among their arguments."""
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|julia|lua|Rscript|R|java|node|octave|matlab)[\d.]*t?$")


class Part(NamedTuple):
    """A program of `mpiexec OPTIONS PROGRAM ARGUMENTS : OPTIONS PROGRAM ...`, as positions in the command."""

    begin: int
    """The first option."""
    program: int
    """The program; `end` if none was found."""
    end: int
    """One past the last argument."""
    launcher: str = ""
    """The launcher whose options stand before the program."""


class Container(NamedTuple):
    """`apptainer exec OPTIONS IMAGE PROGRAM ARGUMENTS`, as positions in the command."""

    begin: int
    """Behind `exec`."""
    program: int
    """The program inside the image."""


def find_program(word: str, environ: Mapping[str, str]) -> Optional[Path]:
    """The executable that a launcher would start for `word`: by PATH, or in the current folder."""
    if not word or "\0" in word:
        return None
    found = shutil.which(word, path=environ.get("PATH", os.defpath))
    if found is None and "/" not in word:
        found = shutil.which(os.path.join(os.curdir, word))
    return Path(found) if found else None


def parts_of(command: Sequence[str], launcher: int, environ: Mapping[str, str]) -> list[Part]:
    """The parts of `command`, whose launcher is at position `launcher`."""
    word = command[launcher]
    begin = launcher + 1
    if os.path.basename(word) == "flux":
        while begin < len(command) and command[begin] not in FLUX_VERBS:
            begin += 1
        begin += 1
    parts = []
    while begin <= len(command):
        end = next((i for i in range(begin, len(command)) if command[i] == ":"), len(command))
        parts.append(Part(begin, next_program(command, begin, end, environ, word), end, word))
        begin = end + 1
    return parts


def next_program(
    command: Sequence[str], begin: int, end: int, environ: Mapping[str, str], launcher: str = ""
) -> int:
    """The position of the first program from `begin` that is no value of an option of `launcher`.

    It is `end` if there is none.
    """
    at = begin
    while at < end:
        if command[at].startswith("-"):
            at += 1 + _values(command, at, launcher)
        elif find_program(command[at], environ):
            return at
        else:
            at += 1
    return min(at, end)


def options_of(command: Sequence[str], part: Part) -> Iterator[tuple[int, str]]:
    """The launcher's options of `part`: their positions, and their names without dashes."""
    at = part.begin
    while at < part.program:
        if command[at].startswith("-"):
            yield at, command[at].lstrip("-")
            at += _values(command, at, part.launcher)
        at += 1


def _values(command: Sequence[str], at: int, launcher: str) -> int:
    """How many words after the option at position `at` belong to it."""
    count = options_with_values(launcher).get(command[at].lstrip("-"), 0)
    # -genv A b may also be written -genv A=b; --mca may not.
    if count == 2 and command[at].endswith("env") and at + 1 < len(command) and "=" in command[at + 1]:
        return 1
    return count


def container_of(command: Sequence[str], part: Part, environ: Mapping[str, str]) -> Optional[Container]:
    """The container in which the program of `part` runs; `program` is its end if that cannot be seen."""
    at = _behind_wrappers(command, part, environ)
    if at == part.end or os.path.basename(command[at]) not in CONTAINERS:
        return None
    verb = _behind_container_options(command, at + 1, part.end)
    if verb == part.end or command[verb] != "exec":
        return Container(part.end, part.end)
    image = _behind_container_options(command, verb + 1, part.end)
    return Container(verb + 1, min(image + 1, part.end))


def _behind_container_options(command: Sequence[str], at: int, end: int) -> int:
    while at < end and command[at].startswith("-"):
        at += 1 + CONTAINER_OPTIONS.get(command[at].lstrip("-"), 0)
    return min(at, end)


def program_of(command: Sequence[str], part: Part, environ: Mapping[str, str]) -> int:
    """The position of the program of `part`, after wrappers; its end if there is none on this machine."""
    return part.end if container_of(command, part, environ) else _behind_wrappers(command, part, environ)


def _behind_wrappers(command: Sequence[str], part: Part, environ: Mapping[str, str]) -> int:
    at = part.program
    while at < part.end and is_wrapper(command[at]):
        at = next_program(command, at + 1, part.end, environ)
    return at


def first_word(command: Sequence[str]) -> str:
    """The first word that is neither a wrapper, such as `env`, nor looks like an argument of one."""
    for at, word in enumerate(command):
        argument = at > 0 and (word.startswith("-") or "=" in word or word[:1].isdigit())
        if not argument and not is_wrapper(word):
            return word
    return command[0]


def is_wrapper(word: str) -> bool:
    """Whether the program `word` starts the program among its arguments."""
    return os.path.basename(word) in WRAPPERS


def is_interpreter(word: str) -> bool:
    """Whether the program `word` runs a script, so that its own libraries say nothing about MPI."""
    name = os.path.basename(word)
    return name in _SHELLS or _INTERPRETER.match(name) is not None


def shell_commands(command: Sequence[str]) -> list[list[str]]:
    """The commands in the string of `sh -c STRING`, also after wrappers; none without such a string."""
    for at, word in enumerate(command):
        if os.path.basename(word) in _SHELLS:
            for option, text in zip(command[at + 1 :], command[at + 2 :]):
                if re.fullmatch(r"-[a-z]*c", option):
                    return _split(text)
            return []
        if at == 0 and not is_wrapper(word):
            return []
    return []


def _split(text: str) -> list[list[str]]:
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token and set(token) <= set("();<>|&"):
                commands.append([])
            elif not (re.match(r"[A-Za-z_]\w*=", token) and not commands[-1]) and token != "exec":
                commands[-1].append(token)
    except ValueError:
        return []
    return [words for words in commands if words]
