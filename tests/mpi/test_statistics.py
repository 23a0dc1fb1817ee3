# SPDX-License-Identifier: Apache-2.0
"""The files of statistics: whose they are, and that each is whole, where processes are spawned."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from launch import environment, run_quietly

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

BUILD = Path(os.environ["NEARFETCH_BUILD"])
FAMILIES = [name for name in ("mpich", "openmpi") if (BUILD / "programs" / name / "spawned").exists()]


class Job:
    """One run of the program `spawned`."""

    def __init__(self, family: str, what: str, ranks: int = 3) -> None:
        # MPICH's shared memory does not reach processes that are spawned later.
        launch = mpiexec(family, ranks, "tcp" if family == "mpich" else "shm", without_nearfetch(os.environ))
        self.family = family
        self.env = environment(launch.env, BUILD, ranks + 2)
        self.argv = [*launch.argv, str(BUILD / "programs" / family / "spawned"), what]

    def under_nearfetch(self, stats: Path) -> list[str]:
        """The command with nearfetch, which writes into the folder `stats`."""
        return nearfetch_run(BUILD, None, {"bypass": "off"}, stats, self.family) + self.argv

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs `command` in the job's environment; both worlds have to compute what is right."""
        done = run_quietly(command, self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "right" in done.stdout, done.stdout + done.stderr
        return done


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    """What the files of a folder say, by their names."""
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.iterdir())}


def worlds(found: dict[str, dict[str, Any]]) -> dict[str, list[int]]:
    """The ranks of each world, after a look at what each file says about itself."""
    ranks: dict[str, list[int]] = {}
    for name, said in found.items():
        plain = f"rank-{said['rank']}.json"
        assert name in (plain, f"world-{said['world']}-{plain}")
        assert not said["spawned"] or name != plain
        assert said["windows"]
        ranks.setdefault(said["world"], []).append(said["rank"])
    return {world: sorted(numbers) for world, numbers in ranks.items()}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("what", ["together", "apart"])
def test_each_process_has_a_file(family: str, what: str, tmp_path: Path) -> None:
    job = Job(family, what)
    done = job.run(job.under_nearfetch(tmp_path / "out"))
    assert "no statistics" not in done.stderr
    found = documents(tmp_path / "out")
    assert len(found) == 5
    assert sorted(worlds(found).values()) == [[0, 1], [0, 1, 2]]
    assert sorted(name for name, said in found.items() if not said["spawned"]) == [
        f"rank-{rank}.json" for rank in range(3)
    ]
    assert len({said["job"] for said in found.values()}) == 1
    assert all(said["job"] and said["mpi"] == family for said in found.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_two_launches_of_one_run(family: str, tmp_path: Path) -> None:
    job = Job(family, "apart")
    twice = " ".join(job.argv) + " && " + " ".join(job.argv)
    job.run(nearfetch_run(BUILD, None, {}, tmp_path / "out", family) + ["sh", "-c", twice])
    found = documents(tmp_path / "out")
    assert sorted(worlds(found).values()) == [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert len({said["job"] for said in found.values()}) == 1
    first = {found[f"rank-{rank}.json"]["world"] for rank in range(3)}
    assert len(first) == 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("problem", ["full", "gone"])
def test_where_nothing_can_be_written_there_is_nothing(family: str, problem: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    job = Job(family, "full" if problem == "full" else "together")
    command = job.under_nearfetch(folder)
    if problem == "gone":
        at = command.index("--") + 1
        command = [*command[:at], "sh", "-c", f'rmdir {folder}; exec "$@"', "sh", *command[at:]]
    done = job.run(command)
    lines = [line for line in done.stderr.splitlines() if "no statistics" in line]
    assert len(lines) == 5, done.stderr
    reason = "File too large" if problem == "full" else "No such file or directory"
    for line in lines:
        assert line.startswith("nearfetch: rank ")
        assert f"(writing {folder}/" in line and "rank-" in line and f"{reason})" in line
        assert line.endswith("or name another folder by NEARFETCH_STATS_DIR")
    assert not folder.exists() or not list(folder.iterdir())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_memory_of_the_caches_is_stated(family: str, tmp_path: Path) -> None:
    job = Job(family, "together")
    cases: list[tuple[str, dict[str, object]]] = [
        ("an eighth of what this node has for each of ", {}),
        ("memory_bytes", {"memory_bytes": "1MiB"}),
    ]
    for number, (origin, settings) in enumerate(cases):
        folder = tmp_path / str(number)
        settings = {"bypass": "off", "summary": "on", **settings}
        done = job.run(nearfetch_run(BUILD, None, settings, folder, family) + job.argv)
        assert f"({origin}" in " ".join(done.stderr.split())
        for said in documents(folder).values():
            memory = said["memory"]
            assert memory["origin"].startswith(origin)
            assert 0 < memory["most_taken_bytes"] <= memory["limit_bytes"]
            assert number == 0 or memory["limit_bytes"] == 1 << 20
