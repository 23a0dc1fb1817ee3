# SPDX-License-Identifier: Apache-2.0
"""The MPI library that a process uses, on a fake machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import nearfetch
from nearfetch import mpi_library
from nearfetch.layout import Layout
from nearfetch.mpi_library import MpiLibrary


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Nothing is loaded or installed: the folders of the system, of Python and of the user are empty."""
    monkeypatch.setattr(mpi_library, "loaded", lambda: None)
    monkeypatch.setattr(mpi_library, "system_library_folders", lambda: [str(tmp_path / "system")])
    monkeypatch.setattr("sys.prefix", str(tmp_path / "python"))
    for name in ("system", "python/lib", "user"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def put(folder: Path, soname: str) -> Path:
    (folder / soname).write_text("")
    return folder / soname


def test_no_mpi_is_a_clear_message(machine):
    for environ in ({}, {"PMI_RANK": "0"}, {"OMPI_COMM_WORLD_SIZE": "2"}):
        with pytest.raises(nearfetch.Error) as caught:
            mpi_library.find({**environ, "PATH": str(machine)})
        assert "no MPI library (looked for " in str(caught.value)
        assert "pip install mpich" in str(caught.value) and "mpi=False" in str(caught.value)


def test_the_launchers_family_is_taken(machine):
    mpich = put(machine / "python" / "lib", "libmpi.so.12")
    openmpi = put(machine / "system", "libmpi.so.40")
    path = {"PATH": str(machine)}
    assert mpi_library.find({"PMI_RANK": "1", **path}) == MpiLibrary("mpich", mpich)
    assert mpi_library.find({"OMPI_COMM_WORLD_SIZE": "1", **path}) == MpiLibrary("openmpi", openmpi)
    assert mpi_library.find(path).family == "mpich"


def test_folders_of_the_user_come_before_the_systems(machine):
    put(machine / "system", "libmpi.so.40")
    mine = put(machine / "user", "libmpi.so.40")
    environ = {"LD_LIBRARY_PATH": f":{machine / 'user'}", "PATH": str(machine)}
    assert mpi_library.find(environ) == MpiLibrary("openmpi", mine)


def test_a_library_of_the_standard_abi_runs_under_hydra(machine):
    found = put(machine / "python" / "lib", "libmpi_abi.so.1")
    assert mpi_library.find({"PMI_RANK": "0", "PATH": ""}) == MpiLibrary("mpiabi", found)


def test_mpi4py_may_name_the_family(machine):
    put(machine / "system", "libmpi.so.12")
    openmpi = put(machine / "system", "libmpi.so.40")
    assert mpi_library.find({"MPI4PY_MPIABI": "openmpi", "PATH": ""}) == MpiLibrary("openmpi", openmpi)


def test_what_is_loaded_is_seen_in_the_maps(tmp_path):
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 1   /lib/libmpc.so.3\n"
        "7f00-7f01 r--p 00000000 08:01 2   /opt/a b/libmpi.so.40.30.4\n"
    )
    assert mpi_library.loaded(maps) == MpiLibrary("openmpi", Path("/opt/a b/libmpi.so.40.30.4"))
    maps.write_text("7f00-7f01 rw-p 00000000 00:00 0\n")
    assert mpi_library.loaded(maps) is None
    assert mpi_library.loaded(tmp_path / "none") is None


def test_a_family_that_was_not_built_is_named(tmp_path):
    (tmp_path / "lib").mkdir()
    put(tmp_path / "lib", "libnearfetch_python_mpich.so")
    layout = Layout.of_build(tmp_path)
    assert layout.python_library("mpich").is_file()
    with pytest.raises(nearfetch.Error, match="Open MPI .this nearfetch was built for: mpich."):
        layout.python_library("openmpi")
