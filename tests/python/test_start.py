# SPDX-License-Identifier: Apache-2.0
"""How a Python program finds its MPI library under `nearfetch run`, for every way to start it.

mpi4py's wheel loads the libmpi of its environment with local symbols, at its import. If no known launcher
tells which one, nearfetch has to find it in the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from ranks import BUILD

from nearfetch.mpiexec import launcher_of, nearfetch_run, without_nearfetch

ENVIRONMENT = Path(sys.executable).parent.parent
LIBMPI = ENVIRONMENT / "lib" / "libmpi.so.12"
PROGRAM = """
from mpi4py import MPI
window = MPI.Win.Allocate(80, 8, comm=MPI.COMM_WORLD)
window.Fence()
window.Get(bytearray(8), MPI.COMM_WORLD.rank)
window.Fence()
MPI.COMM_WORLD.Barrier()
window.Free()
print("right", MPI.Get_library_version().split()[0], flush=True)
"""
CALL = """
import ctypes
{}
here = ctypes.CDLL(None)
here.MPI_Init(None, None)
here.MPI_Finalize()
print("right")
"""


@pytest.fixture(autouse=True)
def mpich() -> None:
    """Skips without MPICH in the environment of this Python, or in nearfetch's build."""
    pytest.importorskip("mpi4py")
    if not LIBMPI.exists() or not (BUILD / "lib" / "libnearfetch_mpi_mpich.so").exists():
        pytest.skip("no MPICH in this Python's environment")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with a window."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def run(
    stats: Path, *words: object, family: str = "mpich", **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs the words under nearfetch, with statistics in the folder `stats`."""
    command = [*nearfetch_run(BUILD, None, None, stats, family or None), *map(str, words)]
    return subprocess.run(
        command,
        env={**without_nearfetch(os.environ), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def started(script: Callable[[str, str], Path], program: Path) -> dict[str, list[object]]:
    """Commands that start `program` in one or two processes, by their special feature."""
    mpiexec = launcher_of("mpich", os.environ)
    python = sys.executable
    return {
        "python": [python, program],
        "a launcher": [script("starts", f'shift 2; exec {mpiexec} -n 2 "$@"'), "-n", "2", python, program],
        "a launcher of one": [script("srun", 'shift 2; exec "$@"'), "-n", "1", python, program],
        "env": ["env", "A=b", python, program],
        "env with a path": ["env", f"PATH={ENVIRONMENT}/bin:{os.environ['PATH']}", "python", program],
        "a shell": ["bash", "-c", f"cd / && {python} {program}"],
        "a shell with a launcher": ["sh", "-c", f"exec {mpiexec} -n 2 {python} {program}"],
        "a script": [script("wrap.sh", f'exec {python} {program} "$@"'), "--flag"],
        "a script of a launcher": [mpiexec, "-n", "2", script("each.sh", f"{python} {program}")],
        "its first line": [script("tool", f"#!{python}\n{PROGRAM}")],
        "the launcher": [mpiexec, "-n", "2", python, program],
    }


CASES = list(started(lambda name, _: Path(name), Path("program.py"))) if LIBMPI.exists() else []


def check_ran(case: str, done: subprocess.CompletedProcess[str], stats: Path) -> None:
    """The program ran on the environment's MPICH, and nearfetch saw the window of each process."""
    assert (done.returncode, done.stderr) == (0, ""), done
    # MPICH's launcher splits lines.
    ranks = 2 if "launcher" in case and case != "a launcher of one" else 1
    assert (done.stdout.count("right"), done.stdout.count("MPICH")) == (ranks, ranks), done
    files = [json.loads(file.read_text(encoding="utf-8")) for file in stats.iterdir()]
    assert [file["windows"][0]["gets"] for file in files] == [1] * ranks


@pytest.mark.parametrize("case", CASES)
def test_the_library_is_that_of_the_program(case, script, program, tmp_path):
    stats = tmp_path / "stats"
    check_ran(case, run(stats, *started(script, program)[case]), stats)


@pytest.mark.parametrize("case", CASES)
def test_another_library_of_the_system_is_not_used(case, compile_c, script, program, tmp_path):
    # One of the same name, without the functions.
    (tmp_path / "system").mkdir()
    other = tmp_path / "system" / "libmpi.so.12"
    compile_c("", "-shared", "-Wl,-soname,libmpi.so.12", "-o", other)
    stats = tmp_path / "stats"
    command = started(script, program)[case]
    check_ran(case, run(stats, *command, LD_LIBRARY_PATH=str(other.parent)), stats)


@pytest.mark.parametrize("case", ["python", "a launcher", "env", "a shell", "its first line"])
def test_the_family_is_told_by_the_python_of_the_command(case, script, program, tmp_path):
    stats = tmp_path / "stats"
    check_ran(case, run(stats, *started(script, program)[case], family=""), stats)


def test_names_that_are_bound_at_once(script, program, tmp_path):
    commands = started(script, program)
    for case in ("python", "a shell", "its first line", "a script of a launcher"):
        stats = tmp_path / case
        check_ran(case, run(stats, *commands[case], LD_BIND_NOW="1"), stats)
    # Nothing tells which library this one will load.
    done = run(tmp_path / "stats", *commands["a script"], LD_BIND_NOW="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"nearfetch: the program loads {LIBMPI} too late (with LD_BIND_NOW " in done.stderr


@pytest.mark.parametrize(
    ("load", "family", "said"),
    [
        ("", "mpich", "the MPI library is missing (the program calls MPI and has loaded no libmpi)"),
        ("ctypes.CDLL({abi!r});", "mpich", "(that is the MPI standard ABI's, and nearfetch came for MPICH)"),
        (
            "ctypes.CDLL({mpich!r});",
            "mpiabi",
            "(that is MPICH's, and nearfetch came for the MPI standard ABI)",
        ),
        ("ctypes.CDLL({mpich!r});", "openmpi", ""),
    ],
)
def test_what_cannot_work_ends_with_a_sentence(load, family, said, tmp_path):
    libraries = {"mpich": LIBMPI, "abi": ENVIRONMENT / "lib" / "libmpi_abi.so.1"}
    code = CALL.format(load.format(**{name: str(path) for name, path in libraries.items()}))
    if not (BUILD / "lib" / f"libnearfetch_mpi_{family}.so").exists():
        pytest.skip(f"built without {family}")
    done = run(tmp_path, sys.executable, "-c", code, family=family)
    if not said:
        # Open MPI's interposer has loaded Open MPI, rightly.
        assert (done.returncode, done.stdout) == (0, "right\n"), done
        return
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("nearfetch: ") and said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_library_of_another_name_is_asked_for_its_binary_interface(compile_c, tmp_path):
    library = tmp_path / "libvendormpi.so.3"
    source = """
    int MPI_Abi_get_version(int* major, int* minor) { *major = 1; *minor = 0; return 0; }
    int PMPI_Get_version(int* major, int* minor) { *major = 5; *minor = 0; return 0; }
    """
    compile_c(source, "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", library)
    done = run(tmp_path, sys.executable, "-c", CALL.format(f"ctypes.CDLL({str(library)!r})"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "that is the MPI standard ABI's, and nearfetch came for MPICH" in done.stderr


@pytest.mark.parametrize("library", ["libmpi.so.12", "libmpi_abi.so.1"])
def test_a_library_that_was_loaded_for_somebody_alone_serves_all(library, tmp_path):
    family = "mpich" if library == "libmpi.so.12" else "mpiabi"
    code = CALL.format(f"ctypes.CDLL({str(ENVIRONMENT / 'lib' / library)!r});")
    if not (BUILD / "lib" / f"libnearfetch_mpi_{family}.so").exists():
        pytest.skip(f"built without {family}")
    done = run(tmp_path, sys.executable, "-c", code, family=family)
    assert (done.returncode, done.stdout) == (0, "right\n"), done
