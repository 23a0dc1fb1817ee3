# SPDX-License-Identifier: Apache-2.0
"""The script ./nf: its use, and its handling of missing packages, on a fake machine."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

NF = Path(__file__).resolve().parents[2] / "nf"
DEMO_PACKAGES, MORE_PACKAGES = (
    NF.read_text().split(f"\n{name}=(")[1].split(")")[0].split() for name in ("demo_packages", "packages")
)
PACKAGES = [*DEMO_PACKAGES, *MORE_PACKAGES[1:]]
"""The first of those is the list of the demo's."""
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-demo.txt")
TOOLS = (
    "bash",
    "env",
    "readlink",
    "dirname",
    "basename",
    "mkdir",
    "flock",
    "grep",
    "sed",
    "cmp",
    "cat",
    "cp",
    "tr",
)


@pytest.fixture
def machine(tmp_path, script):
    """A checkout, a disk of 1 TiB and a PATH of just a few tools; others are added by `script("bin/...")`."""
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    free(script, 1 << 30)
    (tmp_path / "checkout").mkdir()
    shutil.copy(NF, tmp_path / "checkout" / "nf")
    for name in REQUIREMENTS:
        (tmp_path / "checkout" / name).write_text("numpy==1\n")
    script("checkout/packaging/wheel/mpis", ":")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tmp_path / "checkout" / "nf"), *words],
            env={"PATH": str(tmp_path / "bin")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def debian(script, user: int, installed: str) -> None:
    """Makes the machine a Debian with these packages; apt-get records its arguments, python3 fails."""
    listing = f"for p in {installed}; do echo $p installed; done; echo gfortran config-files; exit 1"
    script("bin/dpkg-query", listing)
    script("bin/apt-get", 'echo "$@" >> "${0%/*}/../apt.log"')
    script("bin/id", f"echo {user}")
    script("bin/python3", "exit 9")


def free(script, kibibytes: int) -> None:
    """Sets the free space of the disk."""
    script(
        "bin/df",
        f"echo Filesystem 1024-blocks Used Available Capacity Mounted on; echo / 9 9 {kibibytes} 9% /",
    )


def has_all_packages(script, tmp_path) -> None:
    """Makes the machine complete; ninja builds, and cmake records its arguments."""
    debian(script, 0, " ".join(PACKAGES))
    script("bin/ninja", "echo ninja: no work to do.")
    script("bin/cmake", 'echo "$@" >> "${0%/*}/../cmake.log"')
    script("checkout/.venv/bin/python", 'echo "ran ${1##*/}"')
    for name in REQUIREMENTS:
        shutil.copy(tmp_path / "checkout" / name, tmp_path / f"checkout/.venv/nearfetch-{name}")


def has_a_build(script, tmp_path) -> None:
    """Makes the machine one with a complete build, including the project's programs."""
    has_all_packages(script, tmp_path)
    tried = re.search(r"^packaging=\(([^)]*)\)", NF.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = f"{' '.join(PACKAGES)} doxygen nwchem-openmpi chromium {tried[1]}"
    script("bin/dpkg-query", f"for p in {wanted}; do echo $p installed; done")
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    (tmp_path / "checkout/build/release/build.ninja").touch()
    cache = "NEARFETCH_MPI_FOUND:INTERNAL=mpich;openmpi\nNEARFETCH_TESTS:BOOL=ON\n"
    (tmp_path / "checkout/build/release/CMakeCache.txt").write_text(cache)
    for program in ("programs/openmpi/lcc", "tests/simulate"):
        script(f"checkout/build/release/{program}", "echo ran simulate")


def test_help_and_bad_use(machine):
    assert machine("help").returncode == 0
    assert "usage: ./nf COMMAND" in machine("--help").stdout
    for words in (
        [],
        ["fly"],
        ["bench"],
        ["which"],
        ["which", "--fly"],
        ["which", "lcc", "--mpi"],
        ["which", "lcc", "get_sequence"],
        ["setup", "now"],
        ["fuzz", "soon"],
        ["docs", "now"],
        ["simulate", "--preset", "moon"],
        ["demo", "--mpi"],
        ["demo", "--mpi", "moon"],
    ):
        result = machine(*words)
        assert (result.returncode, result.stdout) == (2, ""), words
        assert result.stderr


def test_elsewhere_than_on_debian_it_names_what_is_missing(machine):
    result = machine("setup")
    assert result.returncode == 1
    for name in ("c++", "gfortran", "cmake", "ninja", "Open MPI", "libgtest-dev"):
        assert name in result.stderr


def test_elsewhere_than_on_debian_the_demo_needs_less(machine):
    text = machine("demo").stderr
    assert "missing: c++ cmake ninja python3 (" in text
    assert "gfortran" not in text


def test_without_root_it_says_what_to_install(machine, script, tmp_path):
    debian(script, 1000, "git cmake build-essential")
    result = machine("setup")
    assert result.returncode == 1
    command = result.stderr.split("apt-get install ")[1].split()
    assert "gfortran" in command
    assert "openmpi-bin" in command
    assert "git" not in command
    assert not (tmp_path / "apt.log").exists()


def test_as_root_it_installs_what_is_missing_and_nothing_else(machine, script, tmp_path):
    debian(script, 0, " ".join(name for name in PACKAGES if name not in ("gfortran", "ccache")))
    machine("setup")
    words = (tmp_path / "apt.log").read_text().split()
    assert words[:3] == ["install", "-y", "--no-install-recommends"]
    assert sorted(words[3:]) == ["ccache", "gfortran"]


def test_a_virtual_environment_that_cannot_be_made_ends_it(machine, script, tmp_path):
    debian(script, 0, " ".join(PACKAGES))
    assert machine("setup").returncode == 9
    assert not (tmp_path / "apt.log").exists()


def test_a_first_build_without_room_for_it_does_not_begin(machine, script, tmp_path):
    has_all_packages(script, tmp_path)
    free(script, (4 << 20) - 1)
    result = machine("setup")
    assert result.returncode == 1
    assert "4095 MiB are free for build/release (a first build takes up to 4 GiB)" in result.stderr
    assert not (tmp_path / "cmake.log").exists()
    free(script, 4 << 20)
    assert machine("setup").returncode == 0
    assert "--preset release" in (tmp_path / "cmake.log").read_text()


def test_a_build_that_is_there_goes_on_however_little_room_is_left(machine, script, tmp_path):
    has_all_packages(script, tmp_path)
    free(script, 1)
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    (tmp_path / "checkout/build/release/build.ninja").touch()
    assert machine("setup").returncode == 0


def test_a_build_goes_on_where_nobody_knows_how_much_room_there_is(machine, script, tmp_path):
    has_all_packages(script, tmp_path)
    script("bin/df", "exit 1")
    assert machine("setup").returncode == 0


def test_it_goes_on_without_programs_that_cannot_be_had(machine, script, tmp_path):
    has_all_packages(script, tmp_path)
    script("bin/apt-get", 'echo "$@" >> "${0%/*}/../apt.log"; exit 100')
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    (tmp_path / "checkout/build/release/build.ninja").touch()
    result = machine("test")
    assert (result.returncode, result.stdout) == (0, "ran run_tests.py\n"), result.stderr
    assert "could not install: doxygen" in result.stderr
    assert "could not install: nwchem-openmpi" in result.stderr
    assert "nf: going on without nwchem-openmpi\n" in result.stderr
    assert re.match("nf: going on without .*slurm-wlm", result.stderr.splitlines()[-1])
    assert "nwchem-openmpi" in (tmp_path / "apt.log").read_text()
    assert machine("setup").returncode == 0


VERBS = {
    "setup": "",
    "run -- true": "ran nearfetch",
    "settings": "ran nearfetch",
    "demo": "ran demo.py",
    "test": "ran run_tests.py",
    "docs": "ran build.py",
    "results": "ran -m",
    "bench --list": "ran -m",
    "simulate": "ran simulate",
    "which lcc": "",
}


@pytest.mark.parametrize("words", VERBS)
def test_a_verb_that_has_nothing_to_build_says_nothing_of_its_own(machine, script, tmp_path, words):
    has_a_build(script, tmp_path)
    result = machine(*words.split())
    assert (result.returncode, result.stderr) == (0, "")
    if words == "which lcc":
        assert result.stdout == f"{tmp_path}/checkout/build/release/programs/openmpi/lcc\n"
    else:
        assert result.stdout == (f"{VERBS[words]}\n" if VERBS[words] else "")
    assert not (tmp_path / "cmake.log").exists()


USES = {
    "demo --mpi=mpich": ("ran demo.py", "nearfetch_mpi_mpich lcc_mpich nearfetch-settings"),
    "run -- true": ("ran nearfetch", "interposers nearfetch-settings nearfetch-report"),
    "settings": ("ran nearfetch", "interposers nearfetch-settings nearfetch-report"),
}


@pytest.mark.parametrize("words", USES)
def test_a_first_verb_configures_no_tests_and_builds_what_it_uses(machine, script, tmp_path, words):
    has_all_packages(script, tmp_path)
    cache = "NEARFETCH_MPI_FOUND:INTERNAL=mpich;openmpi"
    script(
        "bin/cmake",
        f'echo "$@" >> "${{0%/*}}/../cmake.log"\n'
        f"[ $1 != --preset ] || echo '{cache}' > build/release/CMakeCache.txt",
    )
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    script("bin/ninja", "echo [1/2] Building CXX object x.o")
    script("bin/nproc", "echo 2")
    ran, targets = USES[words]
    assert machine(*words.split()).stdout == f"{ran}\n"
    configured, built = (tmp_path / "cmake.log").read_text().splitlines()
    assert configured == "--preset release --log-level=ERROR -DNEARFETCH_TESTS=OFF"
    assert built.split("--target ")[1] == targets


def test_the_demo_gets_an_mpi_where_there_is_none(machine, script, tmp_path):
    has_all_packages(script, tmp_path)
    (tmp_path / "checkout/requirements.txt").write_text("mpich==1.2\nnumpy==1\n")
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    script(
        "bin/cmake",
        'found=; [ -e "${0%/*}/../pip.log" ] && found=mpich\n'
        'echo "NEARFETCH_MPI_FOUND:INTERNAL=$found" > build/release/CMakeCache.txt',
    )
    script(
        "checkout/.venv/bin/python",
        'case "$2" in pip) echo "$@" >> "${0%/*}/../../../pip.log" ;; *) echo "$@" ;; esac',
    )
    result = machine("demo")
    assert result.stdout.split()[1:] == ["--mpi", "mpich"], result.stderr
    assert (tmp_path / "pip.log").read_text().split()[-1] == "mpich==1.2"
    # One that was asked for is not replaced by another.
    refused = machine("demo", "--mpi", "openmpi")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no MPI of the family openmpi (there is: mpich)" in refused.stderr


def test_the_demo_compiles_few_files():
    build = Path(os.environ.get("NEARFETCH_BUILD", NF.parent / "build" / "release"))
    if not (build / "build.ninja").exists():
        pytest.skip("no build by ninja")
    found = re.search("^NEARFETCH_MPI_FOUND:INTERNAL=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    for family in found[1].split(";"):
        targets = [f"nearfetch_mpi_{family}", f"lcc_{family}", "nearfetch-settings"]
        words = ["ninja", "-C", str(build), "-t", "commands", *targets]
        commands = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
        assert 0 < commands.count(" -c ") <= 115, family


def test_after_the_demo_everything_is_configured(machine, script, tmp_path):
    has_a_build(script, tmp_path)
    (tmp_path / "checkout/build/release/CMakeCache.txt").write_text("NEARFETCH_TESTS:BOOL=OFF\n")
    assert machine("setup").returncode == 0
    assert "-DNEARFETCH_TESTS=ON" in (tmp_path / "cmake.log").read_text()


def test_a_verb_that_waits_for_another_says_so(machine, script, tmp_path):
    has_a_build(script, tmp_path)
    lock = (tmp_path / "checkout/build/.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiting = threading.Timer(0.5, lock.close)
    waiting.start()
    result = machine("setup")
    waiting.join()
    assert result.returncode == 0
    assert result.stderr.startswith("nf: another nf is installing or building here")


def test_a_build_shows_its_progress_beside_the_output(machine, script, tmp_path):
    has_a_build(script, tmp_path)
    script("bin/ninja", "echo [1/2] Building CXX object x.o")
    script("bin/cmake", "echo [1/2] Building CXX object x.o")
    script("bin/nproc", "echo 2")
    result = machine("run", "--", "true")
    assert (result.returncode, result.stdout) == (0, "ran nearfetch\n")
    assert result.stderr == "nf: building build/release\n[1/2] Building CXX object x.o\n"


def test_whether_there_is_something_to_build_is_told_in_silence():
    # CMake's rules check folders at each build, also in ninja's dry run.
    build = Path(os.environ.get("NEARFETCH_BUILD", NF.parent / "build" / "release"))
    if not (build / "build.ninja").exists():
        pytest.skip("no build by ninja")
    assert "VERIFY_GLOBS" not in (build / "build.ninja").read_text(encoding="utf-8")
    words = ["ninja", "-n", "-C", str(build), "build.ninja"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "globbed" not in said
