# SPDX-License-Identifier: Apache-2.0
"""The programs that start ranks.

Launchers are told apart by how a variable is set for their ranks, and for nothing else:

- `hydra` (MPICH, Intel MPI, MVAPICH): by the option `-genv NAME VALUE`, before all programs
- `openmpi`: by the option `-x NAME=VALUE`, for each program
- `env` (resource managers, and all others): by `env NAME=VALUE` before the program, whatever the launcher
  hands on itself

Any of them may start a container. There `env` stands inside.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

from nearfetch.launcher_options import CLUSTER_LAUNCHERS
from nearfetch.words import find_program, is_wrapper, parts_of

SIMULATOR = "smpirun"
"""SimGrid's launcher, whose programs have the interposer in them."""

_LAUNCHER_NAMES = ("mpiexec", "mpirun", "orterun", "prterun", "hydra")
_VERSION_TIMEOUT_S = 10.0

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("sbatch", "qsub", "bsub", "msub", "oarsub", "condor_submit"),
        "it puts a script into a queue): write nearfetch run into the script",
    ),
    **dict.fromkeys(
        ("ssh", "rsh", "pdsh", "clush", "docker", "podman", "charmrun"),
        "it does not hand its environment on): write nearfetch run into the command that it starts",
    ),
}
"""Programs in which nothing can be set for ranks: why, and what to do."""

OVER_TCP: Mapping[str, Mapping[str, str]] = {
    "openmpi": {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "lo",
        "OMPI_MCA_osc": "pt2pt",
    },
    **dict.fromkeys(
        ("mpich", "mpiabi"),
        {
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": "lo",
            "MPIR_CVAR_NOLOCAL": "1",
        },
    ),
}
"""Variables, by MPI family, with which the ranks of one machine talk as if they were on several."""


class Launcher(NamedTuple):
    """The word of a command that starts the ranks."""

    index: int
    """Its position in the command."""
    kind: str
    """How a variable is set for the ranks only: see nearfetch.launchers."""
    path: Path
    """The program, symbolic links followed."""


def find_launcher(command: Sequence[str], environ: Mapping[str, str]) -> Optional[Launcher]:
    """The MPI launcher of `command`: its first word, or the one after wrappers such as `env`."""
    first = os.path.basename(command[0])
    candidates = range(len(command)) if is_wrapper(first) else range(1)
    for index in candidates:
        if not _may_be_launcher(command[index]):
            continue
        path = find_program(command[index], environ)
        if path is None:
            continue
        kind = _launcher_kind(path, environ)
        if kind is None and parts_of(command, index, environ)[0].program < len(command):
            kind = "env"
        if kind:
            return Launcher(index, kind, path.resolve())
    return None


def _may_be_launcher(word: str) -> bool:
    """Whether `word` is a launcher's name: unknown programs are not started to ask for their version."""
    base = os.path.basename(word)
    return base in CLUSTER_LAUNCHERS or any(name in base for name in _LAUNCHER_NAMES)


def _launcher_kind(path: Path, environ: Mapping[str, str]) -> Optional[str]:
    if path.name in CLUSTER_LAUNCHERS:
        return "env"
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
