# SPDX-License-Identifier: Apache-2.0
"""Decides which MPI family a command uses.

There is one interposer per binary interface, so `nearfetch run` has to know the ranks' MPI before they
start. Sources, in this order: the libmpi of the programs that the launcher starts; mpi4py's variables; the
launcher's MPI; the environment of the Python that the command names; module systems and a launcher of this
process; other words of the command that link libmpi. Nothing is guessed: without an answer the user is
asked to name the family. The user's choice, the launcher and the programs have to agree.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

from nearfetch import NearfetchError
from nearfetch.elf import dependencies, machine_of, read_dynamic
from nearfetch.launchers import REFUSED, Launcher, find_launcher
from nearfetch.pythons import library_folders
from nearfetch.words import (
    Part,
    container_of,
    find_program,
    first_word,
    is_interpreter,
    parts_of,
    program_of,
    shell_commands,
)


class Family(NamedTuple):
    """One binary interface of MPI."""

    title: str
    """Its name for users."""
    libmpi: tuple[str, ...]
    """The sonames of its C library."""
    bindings: tuple[str, ...]
    """The sonames of libraries that imply it."""


FAMILIES: dict[str, Family] = {
    "mpich": Family(
        "MPICH",
        ("libmpi.so.12", "libmpich.so.12"),
        ("libmpifort.so.12", "libmpichfort.so.12", "libmpicxx.so.12"),
    ),
    "openmpi": Family(
        "Open MPI",
        ("libmpi.so.40",),
        (
            "libmpi_mpifh.so.40",
            "libmpi_usempif08.so.40",
            "libmpi_usempi_ignore_tkr.so.40",
            "libmpi_cxx.so.40",
        ),
    ),
    "mpiabi": Family("the MPI standard ABI", ("libmpi_abi.so.1",), ()),
}

# Prints the version of the standard ABI that a library has (MPI-5.0, MPI_Abi_get_version).
_ABI_VERSION = """
import ctypes, sys
major, minor = ctypes.c_int(-1), ctypes.c_int(-1)
ctypes.CDLL(sys.argv[1]).MPI_Abi_get_version(ctypes.byref(major), ctypes.byref(minor))
print(major.value)
"""

# Cray MPICH has a library per compiler, all with MPICH's binary interface: libmpi_gnu_91.so.12.
_CRAY_LIBMPI = re.compile(r"libmpi_(cray|gnu|intel|amd|aocc|nvidia|pgi)(_\d+)?\.so\.12")
_CRAY_BINDING = re.compile(r"libmpi(fort|cxx)_(cray|gnu|intel|amd|aocc|nvidia|pgi)(_\d+)?\.so\.12")
_STARTED_BY = {"hydra": ("mpich", "mpiabi"), "openmpi": ("openmpi", "mpiabi"), "env": tuple(FAMILIES)}
"""The families that a kind of launcher supports, its own first."""


class Linked(NamedTuple):
    """What a program of the command links."""

    word: str
    """The program, as in the command."""
    family: str
    soname: str
    """The library that tells the family."""
    libmpi: Optional[Path]
    """The libmpi, if found."""


class Decision(NamedTuple):
    """What is known about a command before it runs."""

    family: str
    launcher: Optional[Launcher]
    program_links_mpi: bool
    """Whether a word of the command is a program that links libmpi."""
    libmpi: Optional[Path]
    """The libmpi that the ranks will use, if found."""
    doubts: tuple[str, ...] = ()
    """Warnings about programs that nearfetch cannot be loaded into."""


def decide(command: Sequence[str], environ: Mapping[str, str], named: Optional[str] = None) -> Decision:
    """The MPI family of `command`; `named` is the user's choice.

    Raises NearfetchError if the family is unknown, if programs, launcher and `named` contradict each other,
    or if nearfetch cannot be loaded into a program, or not on its MPI.
    """
    launcher = find_launcher(command, environ)
    inner = None if launcher else _find_in_shell(command, environ)
    words, started_by = inner or (command, launcher)
    begin = _begin_of_container(words, started_by, environ)
    # What is inside of a container has the names, but need not be the files, of this machine.
    words = words[:begin]
    _refuse_programs(words, started_by, environ)
    linked = _linked_programs(words, started_by, environ)
    if named:
        _check_named(named, linked)
    elif linked:
        _check_agreement(linked, started_by, environ)
    argument = None if linked else _of_arguments(words, started_by, environ)
    known = linked or ([argument] if argument else [])
    mine = [found for found in known if found.family == (named or known[0].family)]
    doubts = _doubts(words, started_by, environ)
    if mine:
        _refuse_library(mine[0].libmpi)
        return Decision(mine[0].family, launcher, True, mine[0].libmpi, doubts)
    answer = (named, None) if named else _without_programs(words, started_by, environ)
    if answer is None:
        first = first_word(words)
        what = "starts programs of any MPI" if started_by else "is no MPI launcher nearfetch knows"
        raise NearfetchError(
            f"cannot tell which MPI the command uses ('{first}' {what}, and none of the command's words is "
            "a program that links libmpi, or a Python with one MPI in its environment): "
            f"name it by --mpi {'|'.join(FAMILIES)}"
        )
    family, hinted = answer
    if begin is not None:
        return Decision(family, launcher, False, None, doubts)
    libmpi = _libmpi_for(family, words, environ) or hinted
    if libmpi is None and started_by and started_by.kind != "env":
        libmpi = _libmpi_under(started_by.path.parent.parent, family)
    _refuse_library(libmpi)
    return Decision(family, launcher, False, libmpi, doubts)


def _begin_of_container(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> Optional[int]:
    """The position of the first program inside of a container; None without one."""
    parts = parts_of(command, launcher.index, environ) if launcher else [Part(0, 0, len(command))]
    found = (container_of(command, part, environ) for part in parts)
    return next((container.program for container in found if container), None)


def _refuse_programs(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> None:
    """Raises NearfetchError for a program into which nothing can be loaded, before anything is started."""
    for at, end in _program_places(command, launcher, environ):
        word = command[at]
        path = find_program(word, environ)
        dynamic = read_dynamic(path) if path else None
        if os.path.basename(word) in REFUSED:
            raise NearfetchError(f"cannot follow {word} ({REFUSED[os.path.basename(word)]}")
        if path is None or dynamic is None:
            continue
        if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
            raise NearfetchError(
                f"{word} runs as another user (set-user-id: the loader preloads nothing there): "
                "start a program without that bit"
            )
        if _is_foreign(path):
            raise NearfetchError(
                f"{word} is of another processor (nearfetch is of this machine's): "
                "start it with a nearfetch that was built there"
            )
        hidden = is_interpreter(word) or _linked_words(command, range(at + 1, end), environ)
        if not dynamic.needed and not hidden:
            raise NearfetchError(
                f"{word} is a static program (nothing can be preloaded into it): link it dynamically"
            )
        own = next((soname for soname in dynamic.needed if soname.startswith("libmpitrampoline.so")), None)
        if own:
            raise NearfetchError(
                f"{word} links MPItrampoline ({own}, which has a binary interface of its own): "
                "link it to MPICH, Open MPI or the MPI standard ABI"
            )


def _is_foreign(path: Path) -> bool:
    """Whether this ELF file is of another processor than this Python."""
    return machine_of(path) not in (None, machine_of(Path(sys.executable)))


def _refuse_library(libmpi: Optional[Path]) -> None:
    """Raises NearfetchError for an MPI with which no interposer works."""
    if libmpi is None:
        return
    if _is_foreign(libmpi):
        raise NearfetchError(
            f"{libmpi} is of another processor (nearfetch is of this machine's): use this machine's MPI"
        )
    # Open MPI 3.0 is libmpi.so.40.0.0, 3.1 is .10.0, 4.0 is .20.0.
    version = re.fullmatch(r"libmpi\.so\.40\.(\d+)\.\d+", libmpi.resolve().name)
    if (version and int(version[1]) < 20) or _is_early_open_mpi(libmpi):
        raise NearfetchError(
            f"{libmpi} is of Open MPI 3 or earlier (nearfetch knows 4 and 5): use a later Open MPI"
        )


def _is_early_open_mpi(libmpi: Path) -> bool:
    """Whether this is Open MPI 1.10 or 2, whose sonames are those of other MPIs."""
    if re.match(r"libmpi\.so\.(12|20)", libmpi.name) is None:
        return False
    try:
        return b"ompi_mpi_comm_world" in libmpi.read_bytes()
    except OSError:
        return False


def _without_programs(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> Optional[tuple[str, Optional[Path]]]:
    """The source of the family if no program tells it."""
    configured = of_mpi4py(environ)
    of_launcher = {"hydra": "mpich", "openmpi": "openmpi"}.get(launcher.kind if launcher else "")
    if configured or of_launcher:
        return configured or (str(of_launcher), None)
    answer = _of_python(command, environ) or _of_environment(environ)
    if answer:
        return answer
    others = {found.family: found.libmpi for found in _linked_words(command, range(len(command)), environ)}
    return next(iter(others.items())) if len(others) == 1 else None


def _check_named(named: str, linked: Sequence[Linked]) -> None:
    """Raises NearfetchError if programs are linked, and none of them to the family `named`."""
    if linked and all(found.family != named for found in linked):
        raise NearfetchError(f"--mpi {named}, but {_described(linked[0])}: leave --mpi out")


def _check_agreement(
    linked: Sequence[Linked], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> None:
    """Raises NearfetchError if programs link different families, or the launcher is of another MPI.

    Under Wi4MPI the launcher's is another one than the programs'.
    """
    families = list(dict.fromkeys(found.family for found in linked))
    if len(families) > 1:
        raise NearfetchError(
            f"the programs of the command link different MPI libraries ({' and '.join(families)}; "
            "one interposer cannot serve both): start them by separate commands, "
            "or name the one to serve by --mpi"
        )
    if launcher and families[0] not in _STARTED_BY[launcher.kind] and "WI4MPI_FROM" not in environ:
        title = FAMILIES[families[0]].title
        raise NearfetchError(
            f"the launcher {launcher.path} is {FAMILIES[_STARTED_BY[launcher.kind][0]].title}'s, "
            f"but {_described(linked[0])}: start it by {title}'s mpiexec, "
            f"or write --mpi {families[0]} where this launcher is known to serve {title}, too"
        )


def _described(found: Linked) -> str:
    return f"{found.word} links {FAMILIES[found.family].title} ({found.soname})"


def family_of_soname(soname: str) -> Optional[str]:
    """The family whose libmpi, or language binding, has this soname."""
    for name, family in FAMILIES.items():
        if soname in family.libmpi or soname in family.bindings:
            return name
    return "mpich" if _CRAY_LIBMPI.fullmatch(soname) or _CRAY_BINDING.fullmatch(soname) else None


def linked_mpi(program: Path, environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """The family that the ELF file `program` links, and its libmpi if found."""
    found = _linked(str(program), program, environ)
    return (found.family, found.libmpi) if found else None


def _linked(word: str, program: Path, environ: Mapping[str, str]) -> Optional[Linked]:
    first = None
    for soname, path in dependencies(program, environ):
        named = family_of_soname(soname)
        family = named or ("mpiabi" if _has_standard_abi(soname, path) else None)
        if family is None or (first and family != first.family):
            continue
        if named is None or is_libmpi(soname, family):
            return Linked(word, family, soname, path)
        first = first or Linked(word, family, soname, None)
    return first


def _has_standard_abi(soname: str, path: Optional[Path]) -> bool:
    """Whether this is a libmpi that says so itself: its vendor may call it as they like."""
    try:
        if path is None or "mpi" not in soname or b"MPI_Abi_get_version" not in path.read_bytes():
            return False
        asked = [sys.executable, "-c", _ABI_VERSION, str(path)]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10)
        return int(answer.stdout or -1) > 0
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False


def is_libmpi(soname: str, family: str) -> bool:
    """Whether `soname` is the C library of `family`, not one of its language bindings."""
    cray = family == "mpich" and _CRAY_LIBMPI.fullmatch(soname) is not None
    return cray or soname in FAMILIES[family].libmpi


def _find_in_shell(
    command: Sequence[str], environ: Mapping[str, str]
) -> Optional[tuple[Sequence[str], Launcher]]:
    """The first command with a launcher in the string of `sh -c STRING`, and that launcher."""
    for words in shell_commands(command):
        launcher = find_launcher(words, environ)
        if launcher:
            return words, launcher
    return None


def _linked_programs(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> list[Linked]:
    """The MPI of the programs that the launcher starts, or of the command without a launcher."""
    places = _program_places(command, launcher, environ)
    return [found for at, _ in places for found in _linked_words(command, range(at, at + 1), environ)]


def _program_places(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> list[tuple[int, int]]:
    """Positions of the programs in `command`, after wrappers, and the end of each one's arguments."""
    whole = [Part(0, 0, len(command))]
    parts = parts_of(command, launcher.index, environ) if launcher else whole
    places = []
    for part in parts:
        at = program_of(command, part, environ)
        if at < part.end:
            places.append((at, part.end))
    return places


def _of_arguments(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> Optional[Linked]:
    """The first argument that links an MPI which `launcher` supports.

    Scripts that bind ranks to cores get the program as an argument. Other programs may get one only to
    read it, so it cannot contradict the launcher.
    """
    if launcher is None:
        return None
    for at, end in _program_places(command, launcher, environ):
        for found in _linked_words(command, range(at + 1, end), environ):
            if found.family in _STARTED_BY[launcher.kind]:
                return found
    return None


def _doubts(
    command: Sequence[str], launcher: Optional[Launcher], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """A sentence for each program that is no script, links no MPI, and has no argument that does."""
    doubts = []
    for at, end in _program_places(command, launcher, environ):
        path = find_program(command[at], environ)
        dynamic = read_dynamic(path) if path else None
        if path is None or dynamic is None or is_interpreter(command[at]):
            continue
        if _linked_words(command, range(at, end), environ):
            continue
        if dynamic.needed and all(found for _, found in dependencies(path, environ)):
            doubts.append(
                f"{command[at]} links no libmpi (nearfetch is idle unless the program loads MPI later): "
                "check that it is the program you mean"
            )
    return tuple(dict.fromkeys(doubts))


def _linked_words(command: Sequence[str], places: range, environ: Mapping[str, str]) -> list[Linked]:
    found = []
    for place in places:
        path = find_program(command[place], environ)
        linked = _linked(command[place], path, environ) if path else None
        if linked:
            found.append(linked)
    return found


def of_mpi4py(environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """The MPI of mpi4py's own variables (mpi4py documentation, "Runtime configuration")."""
    path = Path(environ.get("MPI4PY_LIBMPI", "") or os.devnull)
    dynamic = read_dynamic(path) if path.is_file() else None
    family = family_of_soname(dynamic.soname) if dynamic and dynamic.soname else None
    if family:
        return family, path.resolve()
    named = environ.get("MPI4PY_MPIABI", "").lower().replace("-", "").replace("_", "")
    named = {"impi": "mpich"}.get(named, named)
    return (named, None) if named in FAMILIES else None


def _of_python(command: Sequence[str], environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """The only MPI in the environment of the Python that `command` names."""
    return _only_one({family: _libmpi_for(family, command, environ) for family in FAMILIES})


def _only_one(found: Mapping[str, Optional[Path]]) -> Optional[tuple[str, Optional[Path]]]:
    """The family of the only library found. MPICH includes the standard ABI's."""
    there = {family: path for family, path in found.items() if path}
    if set(there) == {"mpich", "mpiabi"}:
        del there["mpiabi"]
    return next(iter(there.items())) if len(there) == 1 else None


def _of_environment(environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """The MPI of module systems or of a launcher of this process; None if they disagree."""
    hints: dict[str, Path] = {}
    for variable in (
        "MPI_HOME",
        "MPI_ROOT",
        "MPI_DIR",
        "I_MPI_ROOT",
        "CRAY_MPICH_DIR",
        "OPAL_PREFIX",
        "EBROOTOPENMPI",
        "EBROOTMPICH",
    ):
        if environ.get(variable):
            for family in FAMILIES:
                path = _libmpi_under(Path(environ[variable]), family)
                if path:
                    hints.setdefault(family, path)
    own = _of_own_launcher(environ)
    return _only_one(hints) if hints else (own, None) if own else None


def _of_own_launcher(environ: Mapping[str, str]) -> Optional[str]:
    """The family of the launcher that started this process.

    Settings of an MPI (OMPI_CC, MPICH_*) are not evidence: they occur in many profiles. Slurm sets
    PMI_RANK for every MPI.
    """
    if "OMPI_COMM_WORLD_SIZE" in environ:
        return "openmpi"
    hydra = {"PMI_RANK", "PMI_SIZE"} <= environ.keys()
    return "mpich" if hydra and not any(name.startswith("SLURM_") for name in environ) else None


def _libmpi_for(family: str, command: Sequence[str], environ: Mapping[str, str]) -> Optional[Path]:
    """The libmpi of `family` that mpi4py loads in the Python that `command` names; None if unknown."""
    configured = of_mpi4py(environ)
    if configured and configured[0] == family and configured[1]:
        return configured[1]
    folders = library_folders(command, environ)
    paths = (folder / soname for folder in folders for soname in FAMILIES[family].libmpi)
    return next((path for path in paths if path.is_file()), None)


def _libmpi_under(prefix: Path, family: str) -> Optional[Path]:
    """The libmpi of `family` in the library folders of an installation prefix."""
    multiarch = f"lib/{os.uname().machine}-linux-gnu"
    for folder in ("lib", "lib64", multiarch, f"{multiarch}/openmpi/lib", "lib/release"):
        for soname in FAMILIES[family].libmpi:
            path = prefix / folder / soname
            if path.is_file():
                return path
    # Cray's module names the folder of one compiler.
    cray = [path for path in prefix.glob("lib/libmpi_*.so.12") if _CRAY_LIBMPI.fullmatch(path.name)]
    return cray[0] if family == "mpich" and len(cray) == 1 else None
