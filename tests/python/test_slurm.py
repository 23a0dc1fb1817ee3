# SPDX-License-Identifier: Apache-2.0
"""`nearfetch run -- srun`, on a Slurm of one node that the tests start, and on its own ports and files."""

from __future__ import annotations

import getpass
import json
import os
import platform
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Iterator

import pytest
from ranks import BUILD

from nearfetch.mpiexec import nearfetch_run, without_nearfetch

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
CONFIGURATION = """
ClusterName=nearfetch
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=ALL Default=YES
"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    """The environment in which `srun` reaches a Slurm of this machine alone."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if missing:
        pytest.skip(f"Slurm is not installed: {', '.join(missing)}")
    # Short, and open to all, as munge wants it.
    with tempfile.TemporaryDirectory(prefix="slurm") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o400)
        configuration = folder / "slurm.conf"
        configuration.write_text(
            CONFIGURATION.format(
                host=platform.node(), user=getpass.getuser(), folder=folder, ports=free_ports(2)
            ),
            encoding="utf-8",
        )
        env = {**without_nearfetch(os.environ), "PATH": path, "SLURM_CONF": str(configuration)}
        if os.geteuid() == 0:
            env.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        files = [f"--{what}={folder}/{what}" for what in ("pid-file", "log-file", "seed-file")]
        daemons = []
        try:
            for command in (
                ["munged", "-F", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge", *files],
                ["slurmctld", "-D", "-f", configuration],
                ["slurmd", "-D", "-f", configuration, "-N", platform.node()],
            ):
                with open(folder / f"{command[0]}.out", "wb") as log:
                    daemons.append(subprocess.Popen(command, env=env, stdout=log, stderr=log))
            wait_for_node(env, folder)
            yield env
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
                daemon.wait(30)


def wait_for_node(env: dict[str, str], folder: Path) -> None:
    """Returns when Slurm would start a job."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True, check=False
        )
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    logs = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1000:]}" for log in folder.glob("*.out"))
    pytest.fail(f"Slurm does not start: {logs}")


def program(family: str) -> Path:
    """A program of that family that reads remote memory."""
    path = BUILD / "programs" / family / "nearby"
    if not path.exists():
        pytest.skip(f"built without {family}")
    return path


def check_counters(folder: Path) -> None:
    """Both ranks were under nearfetch."""
    files = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in folder.iterdir()}
    assert sorted(files) == ["rank-0.json", "rank-1.json"]
    assert all(file["windows"][0]["gets"] > 0 for file in files.values())


def run(*words: object, env: dict[str, str]) -> str:
    """Runs a command that has to succeed; returns its output."""
    done = subprocess.run(
        [str(word) for word in words], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize(("family", "pmi"), [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_both_ranks_of_srun_are_under_nearfetch(slurm, tmp_path, family, pmi):
    words = ["srun", f"--mpi={pmi}", "-n", "2", program(family), "--rounds", "2"]
    plain = run(*words, env=slurm)
    cached = run(*nearfetch_run(BUILD, stats=tmp_path / "stats"), *words, env=slurm)
    check_counters(tmp_path / "stats")
    sums = [[line for line in out.splitlines() if line.startswith("sum")] for out in (plain, cached)]
    assert sums[0] == sums[1] != []


def test_a_batch_script_exports_what_ranks_need(slurm, tmp_path):
    command = nearfetch_run(BUILD)[:2]
    env_words = [*command, "env", "--mpi", "openmpi", "--stats", str(tmp_path / "stats")]
    script = tmp_path / "job.sh"
    script.write_text(
        f'#!/bin/sh\neval "$({" ".join(env_words)})"\nsrun --mpi=pmix -n 2 {program("openmpi")} --rounds 2\n',
        encoding="utf-8",
    )
    run("sbatch", "--wait", "-n", "2", "-o", tmp_path / "out", script, env=slurm)
    assert "wrong 0" in (tmp_path / "out").read_text(encoding="utf-8")
    check_counters(tmp_path / "stats")
