# SPDX-License-Identifier: Apache-2.0
"""Arrays in files: other programs read them, and a failed save loses nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap

import pytest
from ranks import FAMILIES, SOURCE, need_family, need_native, run

np = pytest.importorskip("numpy")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pytest.importorskip("scipy")

CHECKS = SOURCE / "tests" / "python" / "file_checks.py"
HDF5 = SOURCE / "tests" / "python" / "hdf5_checks.py"
FAILING = SOURCE / "tests" / "python" / "failing_saves.py"
SUFFIXES = ("npy", "raw", "h5", "zarr")


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_files_of_threads(ranks, tmp_path):
    need_native()
    assert run([CHECKS, tmp_path, ranks]) == f"passed {ranks}\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_files_of_processes(family, tmp_path, monkeypatch):
    need_mpi_io(family, monkeypatch)
    assert run([CHECKS, tmp_path], family, 3).count("passed 1") == 3


def old_file(path) -> np.ndarray:
    """Writes a file with one array, by the format's own library."""
    model = np.arange(12.0).reshape(3, 4)
    if path.suffix == ".npy":
        np.save(path, model)
    elif path.suffix == ".raw":
        model.tofile(path)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["data"] = model
    else:
        zarr.create_array(store=str(path), shape=model.shape, dtype=model.dtype)[...] = model
    return model


def read(path, shape) -> np.ndarray:
    """What it has now."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".raw":
        return np.fromfile(path).reshape(shape)
    if path.suffix == ".h5":
        with h5py.File(path, "r") as file:
            return file["data"][...]
    return zarr.open_array(store=str(path), mode="r")[...]


def test_progress_is_shown_on_a_terminal(tmp_path):
    need_native()
    code = """
        import sys
        from nearfetch import BlockArray, boxes, launch, load, save
        boxes._QUIET_SECONDS = 0
        boxes.BOX_BYTES = 160
        def main():
            save(sys.argv[1], BlockArray(80))
            load(sys.argv[1])
        launch(main, ranks=2)
        """
    ours, theirs = os.openpty()
    run(["-c", textwrap.dedent(code), tmp_path / "file.npy"], stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    steps = [f"save of float64 (80,) to '{tmp_path}/file.npy': {percent} %" for percent in (50, 100)]
    assert all(step in shown for step in steps) and "load of " in shown and shown.endswith("\r\033[K"), shown
    assert run(["-c", textwrap.dedent(code), tmp_path / "file.npy"]) == ""


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_folder_takes_the_place_of_another(exchanged, tmp_path, monkeypatch):
    """In one step, and where the file system has none."""
    need_native()
    from nearfetch import replacing

    if not exchanged:
        monkeypatch.setattr(replacing, "_exchange", lambda first, second: False)
    old, new = tmp_path / "old", tmp_path / "new"
    for words in ("first", "second"):
        new.mkdir()
        (new / words).touch()
        replacing.replace_folder(str(new), str(old))
        assert [found.name for found in old.iterdir()] == [words]
        assert [found.name for found in tmp_path.iterdir()] == ["old"]
    if not exchanged:
        with pytest.raises(FileNotFoundError):
            replacing.replace_folder(str(tmp_path / "absent"), str(old))
        assert [found.name for found in old.iterdir()] == ["second"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("how", ["raise", "limit"])
def test_a_failed_save_leaves_the_file(suffix, how, tmp_path):
    """A rank raises, or the file may not become as large; the program goes on, and saves where it can."""
    need_native()
    path = tmp_path / f"file.{suffix}"
    model = old_file(path)
    said = run([FAILING, how, path, 3])
    words = {"raise": "No space left on device", "limit": "File too large"}
    assert said.count("failed as it should") == 3 and words[how] in said, said
    assert np.array_equal(read(path, model.shape), model)
    assert [found.name for found in tmp_path.iterdir() if found != path] == [f"saved.{suffix}"]
    assert np.array_equal(read(tmp_path / f"saved.{suffix}", (2,)), [1, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_hdf5_files_of_all_ranks(family, tmp_path):
    """By what pretends to be an h5py with MPI, and checks what is asked of it."""
    need_family(family)
    pytest.importorskip("mpi4py")
    assert run([HDF5, tmp_path], family, 3).count("written by 3") == 3


def test_hdf5_files_by_an_h5py_with_mpi(tmp_path):
    """The one in the folder NEARFETCH_H5PY_MPI."""
    need_family("mpich")
    where = os.environ.get("NEARFETCH_H5PY_MPI")
    if where is None:
        pytest.skip("this h5py has no MPI: hdf5_checks.py says how to make one that has")
    assert run([HDF5, tmp_path, where], "mpich", 3).count("written by 3") == 3


def need_mpi_io(family, monkeypatch) -> None:
    """Skips the test where programs on MPI have no mpi4py, or no ROMIO."""
    need_family(family)
    pytest.importorskip("mpi4py")
    if family == "openmpi":
        known = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, check=True).stdout
        romio = re.search(r"^mca:io:(romio\d+):", known, re.MULTILINE)
        if romio is None:
            pytest.skip("this Open MPI has no ROMIO")
        monkeypatch.setenv("OMPI_MCA_io", romio[1])


@pytest.mark.parametrize("how", ["raise", "limit", "write"])
@pytest.mark.parametrize("suffix", ["npy", "raw"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_failed_save_by_mpi_io_leaves_the_file(family, suffix, how, tmp_path, monkeypatch):
    """The last rank raises, or the file may not become as large, as rank 0 or MPI-IO finds out."""
    need_mpi_io(family, monkeypatch)
    path = tmp_path / f"file.{suffix}"
    model = old_file(path)
    said = run([FAILING, f"mpi-{how}", path], family, 3)
    words = {"raise": "(rank 2: OSError: [Errno 28] No space left", "limit": "(rank 0: OSError: [Errno 27]"}
    assert said.count("failed as it should") == 3 and words.get(how, "OSError: ") in said, said
    assert np.array_equal(read(path, model.shape), model)
    assert [found.name for found in tmp_path.iterdir() if found != path] == [f"saved.{suffix}"]
    assert np.array_equal(read(tmp_path / f"saved.{suffix}", (2,)), [1, 1])


FILL = [(None, "fill", suffix) for suffix in SUFFIXES] + [(family, "mpi-fill", "raw") for family in FAMILIES]


@pytest.mark.parametrize(("family", "how", "suffix"), FILL)
def test_a_full_disk(family, how, suffix, tmp_path, monkeypatch):
    """A file system of 256 KiB; the array has 8 MB."""
    need_native()
    if family:
        need_mpi_io(family, monkeypatch)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=256k none "{disk}"'
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "sh", "-c", mount]).returncode:
        pytest.skip("file systems cannot be mounted here")
    old_file(tmp_path / f"file.{suffix}")
    script = (
        f'{mount} && cp -r "{tmp_path}/file.{suffix}" "{disk}" && "$@" && cp -r "{disk}/." "{tmp_path}/after"'
    )
    before = ["unshare", "-rm", "sh", "-c", script, "sh"]
    said = run([FAILING, how, disk / f"file.{suffix}", 3], family, 3, before)
    assert said.count("failed as it should") == 3 and "No space left" in said, said
    after = tmp_path / "after"
    assert np.array_equal(read(after / f"file.{suffix}", (3, 4)), np.arange(12.0).reshape(3, 4))
    assert sorted(found.name for found in after.iterdir()) == [f"file.{suffix}", f"saved.{suffix}"]


@pytest.mark.parametrize(("how", "suffix"), [*(("kill", each) for each in SUFFIXES), ("mpi-kill", "raw")])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_killed_rank_leaves_the_file(how, suffix, family, tmp_path, monkeypatch):
    need_family(family)
    if how == "mpi-kill":
        need_mpi_io(family, monkeypatch)
    path = tmp_path / f"file.{suffix}"
    model = old_file(path)
    run([FAILING, how, path], family, 3, expect=1)
    assert np.array_equal(read(path, model.shape), model)
    (left,) = [found for found in tmp_path.iterdir() if found != path]
    assert left.name.startswith(f"{path.name}.partial-")
