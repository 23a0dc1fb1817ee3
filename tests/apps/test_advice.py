# SPDX-License-Identifier: Apache-2.0
"""`nearfetch record` and `nearfetch advise` on real programs: what is foreseen is what comes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import NEARFETCH, PROGRAMS, Run, Starter, finish
from launch import environment

from nearfetch.mpiexec import mpiexec, without_nearfetch


class Program(NamedTuple):
    """A program with its arguments."""

    name: str
    arguments: tuple[object, ...] = ()
    keeps_all: bool = True
    """Whether bytes that it reads again never change."""
    tolerance: float = 0.02
    """How far the hit ratio may be from what was foreseen, of 1."""


KNOWN = {
    "lcc": Program("lcc", ("--rmat-scale", 10, "--edge-factor", 16)),
    "lcc_lock_each": Program("lcc", ("--rmat-scale", 10, "--edge-factor", 16, "--lock-each")),
    "barnes_hut": Program("barnes_hut", ("--bodies", 500)),
    "hash_table": Program("hash_table"),
    "nearby": Program("nearby", keeps_all=False),
    "coarray_transpose": Program("coarray_transpose", ("--columns", 60, "--rounds", 3), keeps_all=False),
    # It writes what is leased. Leases and budgets are times of the clock: a busy machine has other hits.
    "assimilation": Program("assimilation", ("--cycles", 3, "--no-check"), keeps_all=False, tolerance=0.1),
}
SMALL = Program("nearby", ("--rounds", 4, "--changes", 0))


def start(program: Program, folder: Path, family: str) -> Starter:
    """Over TCP, where the network is slow enough not to be bypassed."""
    if not (PROGRAMS / family / program.name).exists():
        pytest.skip(f"no {program.name} for {family}")
    return Starter(program.name, folder, "tcp")


def record(starter: Starter, program: Program, folder: Path, family: str, *options: object) -> Run:
    words = [*NEARFETCH, "record", "-o", str(folder), "--mpi", family, *map(str, options), "--"]
    return starter.good(*program.arguments, family=family, ranks=2, before=words)


def advise(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NEARFETCH, "advise", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )


def advice_on(folder: Path) -> dict[str, Any]:
    done = advise(folder, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def hit_ratio(run: Run) -> float:
    total = sum(run.counters, start=type(run.counters[0])())
    served = total["hits"] + total["partial_hits"] + total["pending_hits"]
    return served / (total["gets"] - total["own_memory"])


@pytest.mark.parametrize("program", KNOWN.values(), ids=KNOWN)
def test_hits_are_foreseen(program: Program, family: str, tmp_path: Path) -> None:
    starter = start(program, tmp_path, family)
    record(starter, program, tmp_path / "recording", family)
    advice = advice_on(tmp_path / "recording")
    assert advice["recorded"]["ranks_to_the_end"] == 2
    for choice in advice["choices"]:
        if choice["safe"] and "read_ahead_bytes" not in choice["settings"]:
            # On a busy machine a hit may seem slow, and be bypassed.
            settings = {"mode": "acquire", "bypass": "off", **choice["settings"]}
            mode = settings.pop("mode")
            run = starter.good(*program.arguments, family=family, ranks=2, mode=mode, settings=settings)
            what = f"{choice['settings']}: {choice['hit_ratio']:.3f}, {hit_ratio(run):.3f}"
            assert abs(choice["hit_ratio"] - hit_ratio(run)) <= program.tolerance, what


@pytest.mark.parametrize("program", KNOWN.values(), ids=KNOWN)
def test_promises_are_looked_at(program: Program, family: str, tmp_path: Path) -> None:
    starter = start(program, tmp_path, family)
    record(starter, program, tmp_path / "recording", family)
    choices = advice_on(tmp_path / "recording")["choices"]
    always = next(choice for choice in choices if choice["settings"].get("mode") == "always-cache")
    assert always["safe"] == program.keeps_all, always["why"]
    assert ("unsafe" in always["why"]) != program.keeps_all
    # Those that lock for each access read what was written before a barrier.
    assert all(choice["safe"] for choice in choices if "locks" in choice["settings"])


def test_the_recorded_program_computes_the_same(family: str, tmp_path: Path) -> None:
    program = KNOWN["hash_table"]
    starter = start(program, tmp_path, family)
    plain = starter.good(*program.arguments, family=family, ranks=2)
    recorded = record(starter, program, tmp_path / "recording", family)
    assert {name: value for name, value in plain.json.items() if "seconds" not in name} == {
        name: value for name, value in recorded.json.items() if "seconds" not in name
    }


def test_a_long_run_is_sampled(tmp_path: Path) -> None:
    program = KNOWN["nearby"]
    starter = start(program, tmp_path, "mpich")
    folder = tmp_path / "recording"
    record(starter, program, folder, "mpich", "--limit", 1 << 17)
    assert all(len(gzip.decompress(file.read_bytes())) < 1 << 19 for file in folder.iterdir())
    advice = advice_on(folder)
    assert advice["recorded"]["share"] < 1
    run = starter.good(
        *program.arguments, family="mpich", ranks=2, mode="acquire", settings={"bypass": "off"}
    )
    assert abs(advice["choices"][0]["hit_ratio"] - hit_ratio(run)) <= 0.05
    assert "a long run" in advise(folder).stdout


@pytest.mark.parametrize("compared", [True, False])
def test_the_advice_is_tried_out(small: Path, compared: bool, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    launch = mpiexec("mpich", 2, "tcp", without_nearfetch(os.environ))
    command = [*launch.argv, str(PROGRAMS / "mpich" / SMALL.name), *map(str, SMALL.arguments)]
    options = ["--verify", "--pairs", "2", *(["--output", str(output)] if compared else [])]
    words = [*NEARFETCH, "advise", str(small), *options, "--", *command, "--json", str(output)]
    code, said, errors = finish(words, environment(launch.env, PROGRAMS.parent, 2))
    assert "2 pairs of runs" in said and "times as fast" in said, errors
    assert "run 5 of 5 (as advised)" in errors
    # There are times in the output.
    assert code == (1 if compared else 0)
    assert ("NOT the same" in said) == compared


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording."""
    folder = tmp_path_factory.mktemp("small")
    record(start(SMALL, folder, "mpich"), SMALL, folder / "recording", "mpich")
    return folder / "recording"


def test_the_text_says_what_to_run(small: Path) -> None:
    text = advise(small).stdout
    assert "nearfetch run" in text and "the default" in text and "of memory a rank" in text
    assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere"], "no folder 'nowhere'"),
        (["."], "no rank-<N>.events in '.'"),
        (["RECORDING", "--verify"], "no command"),
        (["RECORDING", "--verify", "--pairs", "0", "--", "true"], "--pairs 0"),
        (["RECORDING", "--verify", "--mpi", "mpich", "--pairs", "1", "--", "false"], "failed with status 1"),
    ],
)
def test_bad_use_is_said(small: Path, arguments: list[str], said: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = advise(*[str(small) if word == "RECORDING" else word for word in arguments])
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1] and ": " in done.stderr


@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_recording_is_said(small: Path, damage: str, tmp_path: Path) -> None:
    for file in small.iterdir():
        data = file.read_bytes()
        bad = {"cut": data[: len(data) // 2], "other": gzip.compress(b"something else"), "empty": b""}
        (tmp_path / file.name).write_bytes(bad[damage])
    done = advise(tmp_path)
    assert done.returncode == 2
    assert "record the run again" in done.stderr


def test_a_run_that_was_killed_is_read_as_far_as_it_goes(small: Path, tmp_path: Path) -> None:
    for file in small.iterdir():
        data = gzip.decompress(file.read_bytes())
        (tmp_path / file.stem).write_bytes(data[: len(data) * 3 // 4])
    done = advise(tmp_path)
    assert done.returncode == 0
    assert "ended early" in done.stdout and "not known" in done.stdout


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["-o", "out"], "no command"),
        (["-o", "out", "--limit", "5", "--", "true"], "--limit 5"),
        (["-o", "out", "--mpi", "mpich", "--", "true"], "no rank was seen"),
        (["-o", "/proc/nowhere", "--mpi", "mpich", "--", "true"], "cannot make the folder"),
        (["--", "true"], "-o"),
    ],
)
def test_bad_use_of_record_is_said(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*NEARFETCH, "record", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode != 0
    assert said in done.stderr
