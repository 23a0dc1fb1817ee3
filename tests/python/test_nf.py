# SPDX-License-Identifier: Apache-2.0
"""The script ./nf: how it is used, and what it does about missing packages, on a machine made of fakes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NF = Path(__file__).resolve().parents[2] / "nf"
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
)


@pytest.fixture
def machine(tmp_path, script):
    """A checkout and a PATH of just a few tools; programs are added by `script("bin/...")`."""
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    (tmp_path / "checkout").mkdir()
    shutil.copy(NF, tmp_path / "checkout" / "nf")
    (tmp_path / "checkout" / "requirements.txt").write_text("numpy==1\n")

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
    """Makes the machine a Debian with these packages; apt-get notes what it is asked for, python3 fails."""
    listing = f"for p in {installed}; do echo $p installed; done; echo gfortran config-files; exit 1"
    script("bin/dpkg-query", listing)
    script("bin/apt-get", 'echo "$@" >> "${0%/*}/../apt.log"')
    script("bin/id", f"echo {user}")
    script("bin/python3", "exit 9")


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
        ["simulate", "--preset", "moon"],
    ):
        result = machine(*words)
        assert (result.returncode, result.stdout) == (2, ""), words
        assert result.stderr


def test_elsewhere_than_on_debian_it_names_what_is_missing(machine):
    result = machine("setup")
    assert result.returncode == 1
    for name in ("c++", "gfortran", "cmake", "ninja", "Open MPI", "libgtest-dev"):
        assert name in result.stderr


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
    everything = NF.read_text().split("packages=(")[1].split(")")[0].split()
    debian(script, 0, " ".join(name for name in everything if name not in ("gfortran", "ccache")))
    machine("setup")
    words = (tmp_path / "apt.log").read_text().split()
    assert words[:3] == ["install", "-y", "--no-install-recommends"]
    assert sorted(words[3:]) == ["ccache", "gfortran"]


def test_a_virtual_environment_that_cannot_be_made_ends_it(machine, script, tmp_path):
    everything = NF.read_text().split("packages=(")[1].split(")")[0]
    debian(script, 0, everything.replace("\n", " "))
    assert machine("setup").returncode == 9
    assert not (tmp_path / "apt.log").exists()


def test_it_goes_on_without_programs_that_cannot_be_had(machine, script, tmp_path):
    everything = NF.read_text().split("packages=(")[1].split(")")[0]
    debian(script, 0, everything.replace("\n", " "))
    script("bin/apt-get", 'echo "$@" >> "${0%/*}/../apt.log"; exit 100')
    script("bin/ninja", "echo ninja: no work to do.")
    script("checkout/.venv/bin/python", 'echo "ran ${1##*/}"')
    shutil.copy(
        tmp_path / "checkout/requirements.txt", tmp_path / "checkout/.venv/nearfetch-requirements.txt"
    )
    (tmp_path / "checkout/build/release").mkdir(parents=True)
    (tmp_path / "checkout/build/release/build.ninja").touch()
    result = machine("test")
    assert (result.returncode, result.stdout) == (0, "ran run_tests.py\n"), result.stderr
    assert "could not install: nwchem-openmpi" in result.stderr
    assert result.stderr.splitlines()[-1] == "nf: going on without nwchem-openmpi"
    assert "nwchem-openmpi" in (tmp_path / "apt.log").read_text()
    assert machine("setup").returncode == 0
