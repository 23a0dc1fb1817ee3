# SPDX-License-Identifier: Apache-2.0
"""`nearfetch run` under other launchers, in containers and over TCP; and `nearfetch env`."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.fixture
def cluster(script, elf, tmp_path, monkeypatch):
    """Launchers of resource managers, and a container: each starts its program in an environment of its own.

    As the real ones do, they take options before it, and hand on only what they are told to.
    """
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"

    def fake(name: str, begin: str, with_value: str) -> None:
        options = f"while :; do case $1 in {with_value}) shift 2 ;; -*) shift ;; *) break ;; esac; done"
        script(f"bin/{name}", f'{begin}\n{options}\nexec env -i "PATH={path}" "$@"')

    fake("srun", "", "-n")
    fake("flux", "shift", "-n")
    fake("jsrun", "", "-n | -a")
    fake("aprun", "", "-n | -N")
    fake("mpiexec", '[ "$1" = --version ] && { echo nobody; exit; }', "-n")
    fake("apptainer", '[ "$1 $2 $4" = "exec --bind image.sif" ] && echo "bound $3"\nshift 4', "-n")
    monkeypatch.setenv("PATH", path)
    show = script("show.sh", 'echo "$NEARFETCH_MODE $LD_PRELOAD $1"')
    return str(show)


@pytest.mark.parametrize(
    "launch",
    [
        ["srun", "-n", "2"],
        ["flux", "run", "-n", "2"],
        ["jsrun", "-n", "2", "-a", "1"],
        ["aprun", "-n", "2", "-N", "1"],
        ["mpiexec", "-n", "2"],
    ],
)
def test_launchers_that_hand_nothing_on_still_set_it_for_their_ranks(nearfetch, cluster, layout, launch):
    result = nearfetch("run", "--mode", "off", "--mpi", "mpich", "--", *launch, cluster, "LD_PRELOAD=x")
    # A program that cannot be loaded into is not the launcher: its own environment has nothing.
    assert result.stdout == f"off {layout.interposer('mpich')} LD_PRELOAD=x\n", result.stderr


def test_inside_of_a_container_the_same_is_set(nearfetch, cluster, layout):
    inside = ["apptainer", "exec", "image.sif", cluster]
    for launch in ([], ["srun", "-n", "2"], ["mpiexec", "-n", "1"]):
        result = nearfetch("run", "--mode", "off", "--mpi", "mpich", "--", *launch, *inside)
        assert result.returncode == 0, result.stderr
        bound, shown = result.stdout.splitlines()
        assert bound == f"bound {layout.libraries}"
        assert shown == f"off {layout.interposer('mpich')} "


def test_a_program_that_cannot_be_seen_is_an_error(nearfetch, cluster):
    for words in (["srun", "--multi-prog", "./list"], ["apptainer", "run", "image.sif"]):
        result = nearfetch("run", "--mpi", "mpich", "--", *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert "cannot see which program" in result.stderr
        assert "nearfetch env" in result.stderr


def test_ranks_of_one_machine_can_talk_over_tcp(nearfetch, launchers, elf):
    command = ["--", launchers["openmpi"], elf("app", "libmpi.so.40")]
    assert "OMPI_MCA_btl=tcp,self" in nearfetch("run", "--pretend-remote", *command).stdout.splitlines()
    assert "OMPI_MCA" not in nearfetch("run", *command).stdout
    command = ["--", launchers["mpich"], elf("app", "libmpi.so.12")]
    words = nearfetch("run", "--pretend-remote", *command).stdout.splitlines()
    assert words[words.index("FI_PROVIDER") + 1] == "tcp"


def test_a_batch_script_exports_what_it_needs(nearfetch, elf, layout, tmp_path):
    words = ["env", "--mode", "off", "--stats", tmp_path / "o ut"]
    named = nearfetch(*words, "--mpi", "mpich")
    assert (named.returncode, named.stderr) == (0, "")
    by_program = nearfetch(*words, "--", elf("app", "libmpi.so.12"))
    for result in (named, by_program):
        shown = subprocess.run(
            [
                "sh",
                "-c",
                f'{result.stdout}echo "$NEARFETCH_MODE:$NEARFETCH_STATS_DIR:$LD_PRELOAD"; unset LD_PRELOAD',
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert shown == f"off:{tmp_path}/o ut:{layout.interposer('mpich')}\n"
        assert "NEARFETCH_JOB=" in result.stdout
    assert (tmp_path / "o ut").is_dir()
    for words, text in (([], "nothing tells which MPI"), (["--set", "x=1", "--mpi", "mpich"], "x=1")):
        refused = nearfetch("env", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert text in refused.stderr
