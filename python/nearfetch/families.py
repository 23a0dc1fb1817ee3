# SPDX-License-Identifier: Apache-2.0
"""Decides which MPI family a command uses.

There is one interposer per binary interface, so `nearfetch run` has to know which MPI the ranks will load
before they are started. Asked in this order: the programs among the command's words (which libmpi do they
link?), what mpi4py is told by its variables, the launcher (whose MPI is it?), and what module systems leave
in the environment. A guess is never made: without an answer the user is asked to name the family.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

from nearfetch import NearfetchError
from nearfetch.elf import dependencies, read_dynamic, system_library_folders


class Family(NamedTuple):
    """One binary interface of MPI."""

    title: str
    """What people call it."""
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

_LAUNCHER_NAMES = ("mpiexec", "mpirun", "orterun", "prterun", "hydra")
_WRAPPERS = {
    "env",
    "time",
    "nice",
    "ionice",
    "timeout",
    "taskset",
    "numactl",
    "setsid",
    "nohup",
    "stdbuf",
    "chrt",
}
_VERSION_TIMEOUT_S = 10.0


class Launcher(NamedTuple):
    """The word of a command that starts the ranks."""

    index: int
    """Its place in the command."""
    kind: str
    """"hydra" or "openmpi": how it is told to set a variable for the ranks only."""
    path: Path
    """The program, symbolic links followed."""


class Decision(NamedTuple):
    """What is known about a command before it runs."""

    family: str
    launcher: Optional[Launcher]
    program_links_mpi: bool
    """One of the command's words is a program that links libmpi itself."""
    libmpi: Optional[Path]
    """The libmpi that the ranks will use, where it could be found."""


def decide(command: Sequence[str], environ: Mapping[str, str], named: Optional[str] = None) -> Decision:
    """The MPI family of `command`; `named` is what the user says it is.

    Raises NearfetchError where the family cannot be told or the command's programs disagree.
    """
    launcher = find_launcher(command, environ)
    linked = _linked_families(command, environ)
    if named:
        family, libmpi, links = named, linked.get(named), named in linked
    elif len(linked) > 1:
        raise NearfetchError(
            f"the programs of the command link different MPI libraries ({' and '.join(linked)}; "
            "one interposer cannot serve both): start them by separate commands, "
            "or name the one to serve by --mpi"
        )
    elif linked:
        ((family, libmpi),) = linked.items()
        links = True
    else:
        links = False
        answer = of_mpi4py(environ) or _of_launcher(launcher) or _of_environment(environ)
        if answer is None:
            raise NearfetchError(
                f"cannot tell which MPI the command uses ('{command[0]}' is no MPI launcher nearfetch knows, "
                "and none of the command's words is a program that links libmpi): "
                f"name it by --mpi {'|'.join(FAMILIES)}"
            )
        family, libmpi = answer
    if libmpi is None and not links:
        libmpi = _libmpi_for(family, launcher, environ)
    return Decision(family, launcher, links, libmpi)


def find_program(word: str, environ: Mapping[str, str]) -> Optional[Path]:
    """The executable that a launcher would start for `word`: by PATH, or in the current folder."""
    if not word or "\0" in word:
        return None
    found = shutil.which(word, path=environ.get("PATH", os.defpath))
    if found is None and "/" not in word:
        found = shutil.which(os.path.join(os.curdir, word))
    return Path(found) if found else None


def family_of_soname(soname: str) -> Optional[str]:
    """The family whose libmpi, or language binding, has this soname."""
    for name, family in FAMILIES.items():
        if soname in family.libmpi or soname in family.bindings:
            return name
    return None


def linked_mpi(program: Path, environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """The family that the ELF file `program` links, and its libmpi where that could be found."""
    family = None
    for soname, path in dependencies(program, environ):
        found = family_of_soname(soname)
        family = family or found
        if found and found == family and soname in FAMILIES[family].libmpi:
            return family, path
    return (family, None) if family else None


def find_launcher(command: Sequence[str], environ: Mapping[str, str]) -> Optional[Launcher]:
    """The MPI launcher of `command`: its first word, or the one behind wrappers such as `env`."""
    first = os.path.basename(command[0])
    candidates = range(len(command)) if first in _WRAPPERS else range(1)
    for index in candidates:
        if not _may_be_launcher(command[index]):
            continue
        path = find_program(command[index], environ)
        kind = _launcher_kind(path, environ) if path else None
        if path and kind:
            return Launcher(index, kind, path.resolve())
    return None


def _may_be_launcher(word: str) -> bool:
    """Whether `word` is called like a launcher: no unknown program is started to ask for its version."""
    return any(name in os.path.basename(word) for name in _LAUNCHER_NAMES)


def _launcher_kind(path: Path, environ: Mapping[str, str]) -> Optional[str]:
    try:
        answer = subprocess.run(
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    text = answer.stdout.decode(errors="replace")
    if any(name in text for name in ("Open MPI", "OpenRTE", "PRRTE", "prterun")):
        return "openmpi"
    if any(name in text for name in ("HYDRA", "Intel(R) MPI")):
        return "hydra"
    return None


def _linked_families(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Optional[Path]]:
    linked: dict[str, Optional[Path]] = {}
    for word in command:
        path = find_program(word, environ)
        found = linked_mpi(path, environ) if path else None
        if found and linked.get(found[0]) is None:
            linked[found[0]] = found[1]
    return linked


def of_mpi4py(environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """What mpi4py's own variables say (mpi4py documentation, "Runtime configuration")."""
    path = Path(environ.get("MPI4PY_LIBMPI", "") or os.devnull)
    dynamic = read_dynamic(path) if path.is_file() else None
    family = family_of_soname(dynamic.soname) if dynamic and dynamic.soname else None
    if family:
        return family, path.resolve()
    named = environ.get("MPI4PY_MPIABI", "").lower().replace("-", "").replace("_", "")
    named = {"impi": "mpich"}.get(named, named)
    return (named, None) if named in FAMILIES else None


def _of_launcher(launcher: Optional[Launcher]) -> Optional[tuple[str, Optional[Path]]]:
    if launcher is None:
        return None
    family = "mpich" if launcher.kind == "hydra" else "openmpi"
    return family, _libmpi_beside(family, launcher)


def _of_environment(environ: Mapping[str, str]) -> Optional[tuple[str, Optional[Path]]]:
    """What module systems leave behind; nothing where the hints disagree."""
    hints: dict[str, Optional[Path]] = {}
    for variable in (
        "MPI_HOME",
        "MPI_ROOT",
        "MPI_DIR",
        "I_MPI_ROOT",
        "OPAL_PREFIX",
        "EBROOTOPENMPI",
        "EBROOTMPICH",
    ):
        if environ.get(variable):
            for family in FAMILIES:
                path = _libmpi_under(Path(environ[variable]), family)
                if path:
                    hints.setdefault(family, path)
    if len(hints) == 2 and set(hints) == {"mpich", "mpiabi"}:
        del hints["mpiabi"]
    if not hints:
        starts = {"OMPI_": "openmpi", "I_MPI_": "mpich", "MPIR_CVAR_": "mpich", "MPICH_": "mpich"}
        hints = {
            family: None
            for start, family in starts.items()
            if any(name.startswith(start) for name in environ)
        }
    return next(iter(hints.items())) if len(hints) == 1 else None


def _libmpi_for(family: str, launcher: Optional[Launcher], environ: Mapping[str, str]) -> Optional[Path]:
    """The libmpi that programs of `family` would load: beside the launcher, else where the loader looks."""
    beside = _libmpi_beside(family, launcher) if launcher else None
    if beside:
        return beside
    for folder in [*environ.get("LD_LIBRARY_PATH", "").split(":"), *system_library_folders()]:
        for soname in FAMILIES[family].libmpi:
            path = os.path.join(folder, soname)
            if folder and os.path.isfile(path):
                return Path(path)
    return None


def _libmpi_beside(family: str, launcher: Launcher) -> Optional[Path]:
    return _libmpi_under(launcher.path.parent.parent, family)


def _libmpi_under(prefix: Path, family: str) -> Optional[Path]:
    """The libmpi of `family` in the library folders of an installation prefix."""
    multiarch = f"lib/{os.uname().machine}-linux-gnu"
    for folder in ("lib", "lib64", multiarch, f"{multiarch}/openmpi/lib", "lib/release"):
        for soname in FAMILIES[family].libmpi:
            path = prefix / folder / soname
            if path.is_file():
                return path
    return None
