# SPDX-License-Identifier: Apache-2.0
"""nearfetch, installed, for the tests of this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearfetch.mpiexec import launcher_of, without_nearfetch

BUILD = Path(os.environ["NEARFETCH_BUILD"])


def run(*words: object, **options: object) -> str:
    """Runs a command that has to succeed; returns its output."""
    command = [str(word) for word in words]
    options = {"timeout": 200, **options}
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def clean_environment() -> dict[str, str]:
    """The environment of a user: nothing points into the source tree."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH"}
    return {name: value for name, value in without_nearfetch(os.environ).items() if name not in dropped}


@pytest.fixture(scope="session")
def prefix(tmp_path_factory) -> Path:
    """nearfetch installed, then moved: nothing may depend on where it was installed first."""
    first = tmp_path_factory.mktemp("first") / "prefix"
    run("cmake", "--install", BUILD, "--prefix", first)
    return Path(shutil.move(first, tmp_path_factory.mktemp("moved") / "prefix"))


def libdir(prefix: Path) -> Path:
    """The folder with the libraries, whatever the system calls it."""
    return next(prefix.rglob("libnearfetch_mpi_*.so")).parent


def wrapper(family: str, name: str = "mpicc") -> str:
    """A compiler wrapper of the MPI that the build used for `family`."""
    if family == "openmpi":
        return shutil.which(f"{name}.openmpi") or shutil.which(name) or ""
    return str(Path(launcher_of(family, os.environ)).parent / (f"{name}_abi" if family == "mpiabi" else name))
