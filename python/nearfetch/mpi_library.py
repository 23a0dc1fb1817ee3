# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI library of this process: the loaded one, or else its launcher's."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional

from nearfetch.elf import system_library_folders
from nearfetch.errors import Error
from nearfetch.families import FAMILIES, family_of_soname, is_libmpi, of_mpi4py
from nearfetch.launchers import find_launcher

# Variables that launchers set in their processes, and the launcher's family.
_LAUNCHERS = {
    "OMPI_COMM_WORLD_SIZE": "openmpi",
    "PMI_RANK": "mpich",
    "PMI_FD": "mpich",
    "PMI_ID": "mpich",
    "PMIX_RANK": "openmpi",
}


class MpiLibrary(NamedTuple):
    """A libmpi."""

    family: str
    path: Path


def launcher_family(environ: Optional[Mapping[str, str]] = None) -> Optional[str]:
    """The family of the launcher that started this process; None without one."""
    environ = os.environ if environ is None else environ
    return next((family for name, family in _LAUNCHERS.items() if name in environ), None)


def loaded(maps: Path = Path("/proc/self/maps")) -> Optional[MpiLibrary]:
    """The libmpi that is loaded in this process."""
    try:
        lines = maps.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for path in dict.fromkeys(line.split(None, 5)[-1] for line in lines if "/libmp" in line):
        # The file name may be longer than the soname: libmpi.so.40.30.4.
        soname = re.match(r".*?\.so\.\d+", os.path.basename(path))
        family = family_of_soname(soname.group()) if soname else None
        if soname and family and is_libmpi(soname.group(), family):
            return MpiLibrary(family, Path(path))
    return None


def find(environ: Optional[Mapping[str, str]] = None) -> MpiLibrary:
    """The MPI library for this process.

    Raises Error if there is none, with what was searched.
    """
    environ = os.environ if environ is None else environ
    found = loaded()
    if found:
        return found
    named = of_mpi4py(environ)
    if named and named[1]:
        return MpiLibrary(named[0], named[1])
    launched = launcher_family(environ)
    wanted = [named[0]] if named else [launched] if launched else list(FAMILIES)
    # MPICH's launcher also starts programs of the standard ABI.
    if wanted == ["mpich"]:
        wanted.append("mpiabi")
    for family in wanted:
        for folder in _folders(family, environ):
            for soname in FAMILIES[family].libmpi:
                if (folder / soname).is_file():
                    return MpiLibrary(family, folder / soname)
    titles = " or ".join(FAMILIES[family].title for family in wanted)
    raise Error(
        f"no MPI library (looked for {titles} in this Python's environment, LD_LIBRARY_PATH, beside mpiexec "
        "and where the system has its libraries): install one, for instance by `pip install mpich`, or run "
        "without MPI, where ranks are threads of one process: launch(main, ranks=4, mpi=False)"
    )


def _folders(family: str, environ: Mapping[str, str]) -> Iterator[Path]:
    yield Path(sys.prefix) / "lib"
    yield from (Path(folder) for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder)
    names = ("mpiexec.openmpi", "mpiexec") if family == "openmpi" else ("mpiexec.hydra", "mpiexec")
    for name in names:
        path = shutil.which(name, path=environ.get("PATH"))
        launcher = find_launcher([path], environ) if path else None
        if launcher and (launcher.kind == "openmpi") == (family == "openmpi"):
            prefix = launcher.path.parent.parent
            yield from (prefix / folder for folder in ("lib", "lib64"))
    yield from (Path(folder) for folder in system_library_folders())
