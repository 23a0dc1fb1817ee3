# SPDX-License-Identifier: Apache-2.0
"""Turns a command into the same command with the interposer in its ranks.

A known launcher is told to set LD_PRELOAD for the ranks only. Otherwise the environment carries it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

from nearfetch import NearfetchError
from nearfetch.elf import read_dynamic
from nearfetch.families import Decision, decide
from nearfetch.launchers import OVER_TCP, SIMULATOR
from nearfetch.layout import Layout
from nearfetch.words import (
    Container,
    Part,
    container_of,
    find_program,
    options_of,
    parts_of,
    program_of,
)

_PREFIX = "NEARFETCH_"
_SANITIZERS = ("libasan.so", "libtsan.so", "liblsan.so")


class Request(NamedTuple):
    """What the user asks for."""

    command: Sequence[str]
    """With its launcher; for `exports` the program, or empty if the family is `named`."""
    settings: Mapping[str, str]
    """Of the ranks, by name."""
    environ: Mapping[str, str]
    named: Optional[str] = None
    """The MPI family."""
    over_tcp: bool = False
    """Whether the ranks talk as if each were on a machine of its own."""
    kind: str = "mpi"
    """What is loaded: the interposer, the recorder ("record"), or nothing ("")."""


class Prepared(NamedTuple):
    """A command that is ready to be executed."""

    command: list[str]
    environ: dict[str, str]
    doubts: tuple[str, ...] = ()
    """Warnings for the user: sentences without "nearfetch: "."""


def variable(setting: str) -> str:
    """The environment variable of a setting: buffer_bytes -> NEARFETCH_BUFFER_BYTES."""
    return _PREFIX + setting.upper().replace("-", "_")


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    return {variable(name): value for name, value in settings.items()}


def exports(layout: Layout, request: Request) -> dict[str, str]:
    """The variables to set where the launch line cannot be changed: those of `prepare`.

    Raises NearfetchError as `prepare` does.
    """
    if request.command:
        decision = decide(request.command, request.environ, request.named)
    elif request.named:
        decision = Decision(request.named, None, True, None)
    else:
        raise NearfetchError(
            "nothing tells which MPI is meant (each has an interposer of its own): name it by --mpi, or "
            "write the program after --, as in nearfetch env -- ./app"
        )
    value = _preload_of(layout.interposer(decision.family), decision, request.environ)
    return {**_as_variables(request.settings), "LD_PRELOAD": value}


def prepare(layout: Layout, request: Request) -> Prepared:
    """The command with the interposer of its MPI family and the settings in its ranks.

    Raises NearfetchError if the command does not exist (status 127) or is no program (126), its family is
    unknown, or there is no interposer for it.
    """
    command, environ = request.command, request.environ
    if find_program(command[0], environ) is None:
        raise _cannot_start(command)
    if os.path.basename(command[0]) == SIMULATOR:
        return _prepare_simulated(request)
    decision = decide(command, environ, request.named)
    variables = {name: value for name, value in environ.items() if name.startswith(_PREFIX)}
    variables.update(_as_variables(request.settings))
    if request.over_tcp:
        variables.update(OVER_TCP[decision.family])
    if request.kind:
        library = layout.interposer(decision.family, request.kind)
        prepared = with_library(library, command, decision, variables, environ)
    else:
        prepared = inject(command, decision, variables, environ)
    return prepared._replace(doubts=decision.doubts)


def _prepare_simulated(request: Request) -> Prepared:
    """Programs of SimGrid's SMPI have the interposer in them, which is off until a mode is given."""
    if request.kind == "record":
        raise NearfetchError(
            f"{SIMULATOR} cannot be recorded (its programs have the interposer in them, and no recorder): "
            "record the program under another MPI"
        )
    given = _as_variables(request.settings)
    return Prepared(list(request.command), {variable("mode"): "acquire", **request.environ, **given})


def _cannot_start(command: Sequence[str]) -> NearfetchError:
    word = command[0]
    status = 127
    if os.path.isdir(word):
        text, status = "it is a folder): name a program", 126
    elif "/" in word and os.path.exists(word):
        text, status = f"it is not executable): name a program, or make it one by chmod +x {word}", 126
    elif re.match(r"[A-Za-z_]\w*=", word) and len(command) > 1:
        text = f"it sets a variable and is no program): write env {' '.join(command[:2])}"
    elif len(word.split()) > 1:
        text = f"words in one pair of quotes?): write them as words of their own, {word}"
    elif "/" in word:
        text = "no such file): check its name"
    else:
        text = "it is in no folder of PATH): check its name"
    return NearfetchError(f"cannot start '{word}' ({text}", status=status)


def with_library(
    library: Path,
    command: Sequence[str],
    decision: Decision,
    variables: Mapping[str, str],
    environ: Mapping[str, str],
) -> Prepared:
    """`command` with `library` preloaded and `variables` set in its ranks."""
    value = _preload_of(library, decision, environ)
    return inject(command, decision, {**variables, "LD_PRELOAD": value}, environ)


def _preload_of(library: Path, decision: Decision, environ: Mapping[str, str]) -> str:
    return preload(library, decision, environ.get("LD_PRELOAD", ""), bool(environ.get("LD_BIND_NOW")))


def preload(interposer: Path, decision: Decision, before: str, bind_now: bool = False) -> str:
    """The value of LD_PRELOAD; `before` is the user's own, `bind_now` whether LD_BIND_NOW is set.

    A sanitizer's runtime has to be first. Python opens libmpi later, and then finds the interposer. But
    Open MPI's interposer depends on libmpi, which has to be the program's. With LD_BIND_NOW later is too
    late, so libmpi follows the interposer.
    """
    kept = [entry for entry in before.replace(":", " ").split() if entry]
    runtimes = [entry for entry in kept if os.path.basename(entry).startswith(_SANITIZERS)]
    dynamic = read_dynamic(interposer)
    if dynamic and not runtimes:
        runtimes = [name for name in dynamic.needed if name.startswith(_SANITIZERS)]
    entries = [*runtimes, str(interposer)]
    early = decision.family == "openmpi" or bind_now
    if early and not decision.program_links_mpi and decision.libmpi:
        entries.append(str(decision.libmpi))
    entries += [entry for entry in kept if entry not in entries]
    for entry in entries:
        if any(mark in entry for mark in " \t\n:"):
            raise NearfetchError(
                f"'{entry}' cannot be preloaded (LD_PRELOAD separates its entries by spaces and colons): "
                "move it to a path without them"
            )
    return ":".join(entries)


def inject(
    command: Sequence[str], decision: Decision, variables: Mapping[str, str], environ: Mapping[str, str]
) -> Prepared:
    """`command` with `variables` set for its ranks.

    The command's own LD_PRELOAD is kept, after that of `variables`.
    """
    launcher = decision.launcher
    whole = Part(0, 0, len(command))
    if launcher is None and container_of(command, whole, environ) is None:
        kept = _with_preload(command, whole, variables.get("LD_PRELOAD", ""), environ)
        return Prepared(kept, {**environ, **variables})
    parts = parts_of(command, launcher.index, environ) if launcher else [whole]
    words = list(command[: parts[0].begin])
    contained = [container_of(command, part, environ) for part in parts]
    if launcher and launcher.kind == "hydra" and not all(contained):
        words += [word for item in variables.items() for word in ("-genv", *item)]
    for part, container in zip(parts, contained):
        if part is not parts[0]:
            words.append(":")
        kept = _with_preload(command, part, variables.get("LD_PRELOAD", ""), environ)
        if container or (launcher and launcher.kind == "env"):
            words += _with_env(kept, part, container, variables)
        elif launcher and launcher.kind == "openmpi":
            words += [*_exports_of(command, part, variables), *kept]
        else:
            words += kept
    return Prepared(words, dict(environ))


def _exports_of(command: Sequence[str], part: Part, variables: Mapping[str, str]) -> list[str]:
    """Open MPI's options that set `variables` for `part`.

    Each program of a list `prog : prog` has its own -x options; none may be given twice.
    """
    _refuse_file_of_programs(command, part)
    given = {_name_of_export(command, place) for place, name in options_of(command, part) if name == "x"}
    chosen = ((name, value) for name, value in variables.items() if name != "LD_PRELOAD" or name not in given)
    return [word for name, value in chosen for word in ("-x", f"{name}={value}")]


def _with_env(
    words: list[str], part: Part, container: Optional[Container], variables: Mapping[str, str]
) -> list[str]:
    """The `words` of `part`, with `env` before its program: inside of a container, if there is one."""
    program = container.program if container else part.program
    if program == part.end:
        raise NearfetchError(
            f"cannot see which program '{' '.join(words)}' starts (nearfetch has to set its variables "
            "there): write the program behind the launcher's options, apptainer exec in place of run, or use "
            "nearfetch env"
        )
    before, after = words[: program - part.begin], words[program - part.begin :]
    if container:
        # The interposer and the folder of statistics have the same paths inside.
        entries = variables.get("LD_PRELOAD", "").split(":")
        folders = [os.path.dirname(entry) for entry in entries if "libnearfetch" in entry]
        folders += [variables.get(variable(setting), "") for setting in ("stats_dir", "record_dir")]
        at = container.begin - part.begin
        before[at:at] = [word for folder in folders if folder for word in ("--bind", folder)]
    return [*before, "env", *(f"{name}={value}" for name, value in variables.items()), *after]


def _name_of_export(command: Sequence[str], place: int) -> str:
    """The variable of Open MPI's option `-x NAME[=VALUE]`."""
    return command[place + 1].split("=")[0] if place + 1 < len(command) else ""


def _refuse_file_of_programs(command: Sequence[str], part: Part) -> None:
    for place, name in options_of(command, part):
        if name in ("app", "appfile"):
            raise NearfetchError(
                f"{command[place]} names a file of programs (Open MPI gives them none of the variables that "
                "nearfetch needs): write the programs into the command, with ':' between them"
            )


def _with_preload(command: Sequence[str], part: Part, ours: str, environ: Mapping[str, str]) -> list[str]:
    """The words of `part`, with `ours` in front wherever it sets LD_PRELOAD for its program."""
    words = list(command)
    start = "LD_PRELOAD="
    for place, name in options_of(command, part):
        value = place + 2
        if name in ("genv", "env") and words[place + 1 : value] == ["LD_PRELOAD"] and value < part.program:
            words[value] = _merged(ours, words[value])
        elif name in ("genv", "env", "x") and place + 1 < part.program:
            if words[place + 1].startswith(start):
                words[place + 1] = start + _merged(ours, words[place + 1][len(start) :])
            elif name == "x" and words[place + 1] == "LD_PRELOAD":
                words[place + 1] = start + ours
    for place in range(part.program, program_of(command, part, environ)):
        # env LD_PRELOAD=... before the program
        if words[place].startswith(start):
            words[place] = start + _merged(ours, words[place][len(start) :])
    return words[part.begin : part.end]


def _merged(ours: str, before: str) -> str:
    """`ours` followed by the other libraries of `before`; a sanitizer's runtime has to be first."""
    entries = [entry for entry in ours.split(":") if entry]
    entries += [entry for entry in before.replace(":", " ").split() if entry not in entries]
    return ":".join(sorted(entries, key=lambda entry: not os.path.basename(entry).startswith(_SANITIZERS)))
