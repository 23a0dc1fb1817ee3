# SPDX-License-Identifier: Apache-2.0
"""The wheel that `pip install .` builds, in a fresh virtual environment: without MPI, and with one."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from conftest import BUILD, clean_environment, run

SOURCE = Path(__file__).resolve().parents[2]
SUM = """
import nearfetch
def main():
    a = nearfetch.BlockArray(10, int)
    a.local[...] = nearfetch.rank() + 1
    nearfetch.barrier()
    return int(a.sum()), int(a[9]), nearfetch.ranks()
print(nearfetch.launch(main, ranks=2))
"""
WINDOW = """
import numpy, nearfetch
window_class = nearfetch.Window
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
window = window_class.Create(numpy.full(4, rank), 8, comm=MPI.COMM_WORLD, mode="always-cache", bypass=False)
MPI.COMM_WORLD.Barrier()
to = numpy.zeros(1, int)
with window.reading():
    for _ in range(5):
        window.Get(to, 1 - rank)
        window.Flush(1 - rank)
hits = window.statistics()["hits"]
MPI.COMM_WORLD.Barrier()
print(f"{int(to[0]) == 1 - rank} {hits}")
window.Free()
"""


def compilers() -> dict[str, str]:
    """Those of the build, whose objects are used again."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^CMAKE_(C|CXX)_COMPILER:\w+=(.*)$", cache, re.MULTILINE))
    return {"CC": found["C"], "CXX": found["CXX"]}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    if not list((BUILD / "python" / "nearfetch").glob("_native*.so")):
        pytest.skip("the native module is not built")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-build-isolation", "--no-deps", "--disable-pip-version-check", "--no-index"]
    run(
        *(sys.executable, "-m", "pip", "wheel", *options, "-w", folder),
        *("-C", f"build-dir={BUILD.parent / 'wheel'}", SOURCE),
        env={**clean_environment(), **compilers()},
        timeout=1500,
    )
    return next(folder.glob("nearfetch-*.whl"))


def copy_package(name: str, root: Path, site: Path) -> None:
    """Installs what is installed here there, as its list of files says: the tests need no network."""
    for file in importlib.metadata.distribution(name).files or ():
        target = Path(os.path.normpath(site / file))
        if target.is_relative_to(root) and file.locate().is_file() and target.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory) -> Path:
    """A virtual environment with the wheel and numpy."""
    root = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(root, symlinks=True)
    (site,) = root.glob("lib/python3*/site-packages")
    run(
        *(
            sys.executable,
            "-m",
            "pip",
            "--python",
            root / "bin" / "python",
            "install",
            "--no-deps",
            "--no-index",
        ),
        *("--disable-pip-version-check", wheel),
        env=clean_environment(),
    )
    copy_package("numpy", root, site)
    return root


@pytest.fixture(scope="module")
def with_mpich(fresh) -> Path:
    """The same, and MPICH and mpi4py. To be asked for after what is to be without."""
    (site,) = fresh.glob("lib/python3*/site-packages")
    for name in ("mpich", "mpi4py"):
        copy_package(name, fresh, site)
    return fresh


def user(fresh: Path) -> dict[str, str]:
    """The environment of somebody who has activated it."""
    return {**clean_environment(), "PATH": f"{fresh / 'bin'}:/usr/bin:/bin"}


def test_the_wheel_has_everything(wheel):
    names = run(sys.executable, "-m", "zipfile", "-l", wheel)
    for part in ("_native.pyi", "py.typed", "_installed.py", "bin/nearfetch-settings", "licenses/LICENSE"):
        assert part in names
    # Those for C++ are no part of it.
    for kind in ("mpi", "python"):
        built = list((BUILD / "lib").glob(f"libnearfetch_{kind}_*.so"))
        assert built
        for library in built:
            assert f"nearfetch/lib/{library.name}" in names
    assert ".pyc" not in names and "nearfetch.hpp" not in names


def test_ranks_are_threads_without_mpi(fresh, tmp_path):
    python = fresh / "bin" / "python"
    assert run(python, "-c", SUM, env=user(fresh), cwd=tmp_path) == "[(15, 2, 2), (15, 2, 2)]\n"
    where = run(python, "-c", "import nearfetch; print(nearfetch.__file__)", env=user(fresh), cwd=tmp_path)
    assert where.startswith(str(fresh))


def test_the_command_is_there(fresh, tmp_path):
    command = fresh / "bin" / "nearfetch"
    table = json.loads(run(command, "settings", "--json", env=user(fresh), cwd=tmp_path))
    assert {"mode", "page_cache_capacity_bytes"} <= {row["name"] for row in table}


# A system that has none: its folders are not looked at, nor is anything on PATH.
NO_MPI = "from nearfetch import mpi_library\nmpi_library.system_library_folders = lambda: []\n"


@pytest.mark.parametrize(
    "code",
    [SUM.replace("ranks=2", "mpi=True"), "import nearfetch\nnearfetch.Window"],
    ids=["launch", "window"],
)
def test_a_missing_mpi_is_a_clear_message(fresh, tmp_path, code):
    done = subprocess.run(
        [fresh / "bin" / "python", "-c", NO_MPI + code],
        env={**user(fresh), "PATH": str(fresh / "bin")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("nearfetch.errors.Error: no MPI library (looked for MPICH or Open MPI or the MPI")
    assert "pip install mpich" in last and "mpi=False" in last


def test_with_the_mpi_found_there(with_mpich, tmp_path):
    words = [with_mpich / "bin" / "mpiexec", "-n", 2, with_mpich / "bin" / "python"]
    assert run(*words, "-c", SUM, env=user(with_mpich), cwd=tmp_path).count("[(15, 2, 2)]") == 2
    script = tmp_path / "window.py"
    script.write_text(WINDOW)
    assert run(*words, script, env=user(with_mpich), cwd=tmp_path).count("True 4") == 2
    command = [with_mpich / "bin" / "nearfetch", "run", "--set", "bypass=off", "--"]
    assert run(*command, *words, script, env=user(with_mpich), cwd=tmp_path).count("True 4") == 2


def test_the_installed_package_beside_the_rest(prefix, tmp_path):
    if not list((BUILD / "python" / "nearfetch").glob("_native*.so")):
        pytest.skip("the native module is not built")
    (package,) = prefix.rglob("nearfetch/_installed.py")
    env = {**clean_environment(), "PYTHONPATH": str(package.parents[1])}
    assert run(sys.executable, "-c", SUM, env=env, cwd=tmp_path) == "[(15, 2, 2), (15, 2, 2)]\n"
    here = "from nearfetch.layout import Layout as L; print(L.of_this().python_library('openmpi'))"
    if (BUILD / "lib" / "libnearfetch_python_openmpi.so").exists():
        assert run(sys.executable, "-c", here, env=env, cwd=tmp_path).startswith(str(prefix))
