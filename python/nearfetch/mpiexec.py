# SPDX-License-Identifier: Apache-2.0
"""Starts MPI programs the way tests, benchmarks and demos do: by MPI family, rank count and network."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Union

from nearfetch import NearfetchError
from nearfetch.families import FAMILIES
from nearfetch.launchers import OVER_TCP, SIMULATOR, find_launcher

NETWORKS = ("shm", "tcp")
SIMULATED = "smpi"
"""The family whose ranks SimGrid simulates, in virtual time."""

_PLATFORMS = Path(__file__).resolve().parents[2] / "bench" / "platforms"

_OPENMPI_BOUND = ["--map-by", "core:OVERSUBSCRIBE", "--bind-to", "core:overload-allowed"]


class Launch(NamedTuple):
    """How to start ranks: `subprocess.run([*launch.argv, program, ...], env=launch.env)`."""

    argv: list[str]
    """The launcher and its options; the program and its arguments follow."""
    env: dict[str, str]
    """The complete environment."""


def mpiexec(
    family: str,
    ranks: int,
    network: str = "shm",
    environ: Optional[Mapping[str, str]] = None,
    launcher: Optional[str] = None,
    bound: bool = False,
) -> Launch:
    """How to start `ranks` ranks of a program of `family` on `network`.

    `network` is "shm" (shared memory) or "tcp" (TCP over the loopback interface, also between ranks that
    could share memory). More ranks than cores are allowed. If they are `bound`, each stays on one core,
    and cores are assigned round robin. `environ` is the environment to start from (default: os.environ),
    and `launcher` a launcher in place of the family's own.

    Of the family "smpi" the network is a platform of bench/platforms, as "aries", with one rank a node, or
    with 32, as "aries/32".

    Raises NearfetchError if the family has no launcher, ValueError for an unknown family or network.
    """
    if family == SIMULATED:
        return _smpirun(ranks, network, dict(os.environ if environ is None else environ))
    if family not in FAMILIES:
        raise ValueError(f"unknown MPI family '{family}'")
    if network not in NETWORKS:
        raise ValueError(f"unknown network '{network}'")
    env = dict(os.environ if environ is None else environ)
    argv = [launcher or launcher_of(family, env)]
    if network == "tcp":
        env.update(OVER_TCP[family])
    if family == "openmpi":
        argv += _OPENMPI_BOUND if bound else ["--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            env.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    elif bound:
        cores = itertools.cycle(sorted(os.sched_getaffinity(0)))
        argv += ["-bind-to", "user:" + ",".join(str(core) for core in itertools.islice(cores, ranks))]
    return Launch([*argv, "-n", str(ranks)], env)


def _smpirun(ranks: int, network: str, env: dict[str, str]) -> Launch:
    """How SimGrid starts ranks."""
    platform, _, per_node = network.partition("/")
    files = [_PLATFORMS / f"{platform}.xml", _PLATFORMS / f"hosts-{per_node or 1}"]
    if not all(file.exists() for file in files):
        raise ValueError(f"unknown network '{network}'")
    path = shutil.which(SIMULATOR, path=env.get("PATH"))
    if path is None:
        raise NearfetchError(f"no {SIMULATOR} (it is not in PATH): install libsimgrid-dev")
    # By default collective calls send messages from each rank to all others, at once: slow to simulate.
    words = [path, "--cfg=smpi/coll-selector:ompi", "--cfg=smpi/alltoallv:ring"]
    words += ["--log=root.thresh:critical"]
    words += ["-platform", str(files[0]), "-hostfile", str(files[1])]
    return Launch([*words, "-np", str(ranks)], env)


def launcher_of(family: str, environ: Mapping[str, str]) -> str:
    """The mpiexec of `family`: of the source tree's or the running virtual environment, else by PATH."""
    venvs = [Path(__file__).resolve().parents[2] / ".venv", Path(sys.prefix)]
    names = [str(venv / "bin" / "mpiexec") for venv in venvs] + ["mpiexec.mpich", "mpiexec.hydra", "mpiexec"]
    kind = "hydra"
    if family == "openmpi":
        names = ["mpiexec.openmpi", "mpiexec", *names[:2]]
        kind = "openmpi"
    for name in names:
        path = shutil.which(name, path=environ.get("PATH"))
        found = find_launcher([path], environ) if path else None
        if path and found and found.kind == kind:
            return path
    raise NearfetchError(
        f"no launcher for the MPI family {family} (looked for {', '.join(names)}): "
        f"install {FAMILIES[family].title}"
    )


def nearfetch_run(
    build: Union[str, Path],
    mode: Optional[str] = None,
    settings: Optional[Mapping[str, object]] = None,
    stats: Union[str, Path, None] = None,
    family: Optional[str] = None,
) -> list[str]:
    """The words before a launch that run it under the nearfetch of the build folder `build`."""
    words = [sys.executable, str(Path(build) / "bin" / "nearfetch"), "run"]
    if mode:
        words += ["--mode", mode]
    for name, value in (settings or {}).items():
        words += ["--set", f"{name}={value}"]
    if stats:
        words += ["--stats", str(stats)]
    if family and family != SIMULATED:
        words += ["--mpi", family]
    return [*words, "--"]


def without_nearfetch(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without nearfetch's settings, for runs that must not inherit them."""
    return {name: value for name, value in environ.items() if not name.startswith("NEARFETCH_")}
