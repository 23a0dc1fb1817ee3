# SPDX-License-Identifier: Apache-2.0
"""minimd computes the same atoms, bit for bit, on any number of ranks, with and without a cache, and they
behave as Lennard-Jones atoms do."""

from __future__ import annotations

import os
from typing import Any

import pytest
from conftest import PROGRAMS, environment
from pgas_programs import finish, report, run, start

from nearfetch.mpiexec import mpiexec

# 21 steps: atoms change their bins once, and move on.
SHORT = ("--size", 4, "--steps", 21)
SHORTER = ("--size", 4, "--steps", 3)
VIRTUAL = ("--network", "aries", "--virtual")
MEASURED = ("temperature", "pressure", "potential", "total")


def run_mpi(family: str, ranks: int, *arguments: object) -> dict[str, Any]:
    launch = mpiexec(family, ranks, "shm", dict(os.environ))
    env = environment(launch.env, PROGRAMS.parent, ranks)
    return report(finish([*launch.argv, str(PROGRAMS / family / "minimd"), *map(str, arguments)], env))


def computed(result: dict[str, Any]) -> dict[str, Any]:
    """All that a run computes, which neither ranks nor caches may change."""
    names = [f"{when}_{what}" for when in ("first", "last") for what in MEASURED]
    return {name: result[name] for name in ("checksum", "atoms", "energy_drift", *names)}


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """What one rank computes, where nothing is remote."""
    return computed(run("minimd", *SHORT, "--ranks", 1))


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_same_bits_on_threads(ranks, alone):
    cached = run("minimd", *SHORT, "--ranks", ranks)
    uncached = run("minimd", *SHORT, "--ranks", ranks, "--no-cache")
    assert computed(cached) == computed(uncached) == alone
    assert uncached["hits"] == uncached["misses"] == 0
    # In a step each position is read for all its neighbours, and fetched once.
    assert 50 * cached["get_messages"] < uncached["get_messages"]
    assert cached["hits"] + cached["pending_hits"] + cached["misses"] > uncached["get_messages"] / 2


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("cache", [(), ("--no-cache",)])
def test_same_bits_on_mpi(any_family, ranks, cache, alone):
    result = run_mpi(any_family, ranks, *SHORT, *cache)
    assert computed(result) == alone
    assert (result["ranks"], result["mpi"]) == (ranks, any_family)


@pytest.mark.parametrize("version", ["ac", "ac-sd", "mc", "mc-sd"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_versions(version, ranks, alone):
    result = run("minimd", *SHORT, *VIRTUAL, "--ranks", ranks, "--version", version)
    assert computed(result) == alone
    assert (result["prefetch_updates"] > 0) == (ranks > 1)
    base = run("minimd", *SHORT, *VIRTUAL, "--ranks", ranks)
    assert result["hits"] + result["misses"] <= (base["hits"] + base["misses"]) / 100


def test_versions_on_mpi(any_family, alone):
    assert computed(run_mpi(any_family, 2, *SHORT, "--version", "mc")) == alone


def test_prefetched_halo():
    # 3 bins along each edge, dealt out to 2 x 1 x 1 ranks: rank 0 has 18 of 27, and needs all others.
    result = run("minimd", *SHORTER, *VIRTUAL, "--version", "mc")
    slots = 4 + int(1.6 * 0.8442 * (4 * (4 / 0.8442) ** (1 / 3) / 3) ** 3)
    counts, positions = 9 * 8, 9 * slots * 24
    assert result["prefetch_bytes"] == counts + positions * (1 + 3)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_crystals_of_any_size(size):
    # Smaller than the cutoff, too: an atom then interacts with several images of another.
    result = run("minimd", "--size", size, "--steps", 40, "--ranks", 4)
    assert result["atoms"] == 4 * size**3
    assert result["first_potential"] == pytest.approx(-6.7733681, abs=5e-8)
    assert result["first_temperature"] == pytest.approx(1.44, abs=1e-9)


def test_like_lammps():
    # LAMMPS 22 Jul 2025 from the file of --write-data, with its own lists every 20 steps: docs/minimd.md.
    result = run("minimd", "--size", 4, "--steps", 100, "--ranks", 2)
    lammps = {
        "first_temperature": 1.44,
        "first_potential": -6.77336805325309,
        "first_total": -4.62180555325309,
        "first_pressure": -5.02441789508558,
        "last_temperature": 0.75651081936637,
        "last_potential": -5.75878381257446,
        "last_total": -4.62845026410713,
        "last_pressure": 0.168668050392151,
    }
    assert {name: result[name] for name in lammps} == pytest.approx(lammps, rel=1e-9)


def test_energy_is_conserved_better_with_shorter_steps():
    drifts = [
        run("minimd", "--size", 5, "--timestep", timestep, "--ranks", 2)["energy_drift"]
        for timestep in (0.01, 0.005, 0.0025)
    ]
    assert drifts[0] < 0.002
    # Of second order, until what the cutoff does to the forces remains.
    assert drifts[1] < drifts[0] / 3 and drifts[2] < drifts[1] / 1.5


def test_steps_that_are_too_long_are_noticed():
    done = start("minimd", "--size", 4, "--timestep", 0.02)
    assert done.returncode == 1
    assert "the result is wrong" in done.stderr


@pytest.mark.parametrize(("timestep", "says"), [("0.1", "--timestep"), ("nan", "--timestep")])
def test_bad_timesteps(timestep, says):
    done = start("minimd", "--timestep", timestep)
    assert done.returncode == 2 and says in done.stderr


def test_data_for_lammps(tmp_path):
    path = tmp_path / "atoms.data"
    run("minimd", *SHORTER, "--write-data", path)
    lines = path.read_text(encoding="utf-8").splitlines()
    velocities = [list(map(float, line.split())) for line in lines[lines.index("Velocities") + 2 :]]
    assert [int(line[0]) for line in velocities] == list(range(1, 257))
    for component in range(1, 4):
        assert sum(line[component] for line in velocities) == pytest.approx(0, abs=1e-10)
    squares = sum(x * x for line in velocities for x in line[1:])
    assert squares / (3 * 256 - 3) == pytest.approx(1.44)
    done = start("minimd", *SHORTER, "--write-data", tmp_path)
    assert done.returncode == 2 and "--write-data" in done.stderr
