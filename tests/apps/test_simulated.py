# SPDX-License-Identifier: Apache-2.0
"""Programs with many ranks in SimGrid's virtual time: the same results with and without the cache, the same
time in each run, and the network that a platform promises."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import NEARFETCH, PROGRAMS, Run, Starter

from nearfetch.mpiexec import SIMULATED, mpiexec, without_nearfetch

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / SIMULATED / "lcc").exists(), reason="SimGrid is not installed (libsimgrid-dev)"
)

AS_001 = {"storage": "best_fit", "policy": "clampi", "exact_match": "on", "keep_on_resize": "off"}
GRAPH = ["--rmat-scale", 9, "--edge-factor", 8]
TIMES = (
    "communication_seconds",
    "first_get_seconds",
    "ideal_cache_seconds",
    "total_seconds",
    "force_seconds",
)


def started(program: str, scratch: Path, *arguments: object, network: str = "aries", **where: Any) -> Run:
    """A run of 16 ranks."""
    return Starter(program, scratch, network).good(*arguments, family=SIMULATED, ranks=16, **where)


def results_of(run: Run) -> dict[str, Any]:
    """What does not depend on time."""
    return {name: value for name, value in run.json.items() if not name.startswith(TIMES)}


@pytest.mark.parametrize("network", ["aries", "aries/32", "hdr", "ethernet"])
def test_lcc_is_the_same_and_faster(tmp_path: Path, network: str) -> None:
    plain = started("lcc", tmp_path, *GRAPH, network=network)
    for mode, settings in (("acquire", {}), ("always-cache", AS_001)):
        cached = started("lcc", tmp_path, *GRAPH, network=network, mode=mode, settings=settings)
        assert results_of(cached) == results_of(plain)
        assert sum(counters["hits"] for counters in cached.counters) > 0
        # The time is simulated: it is the work's, not the machine's. On one node gets are hardly slower.
        if network != "aries/32":
            assert 1.5 * cached.json["total_seconds"] < plain.json["total_seconds"]


def test_what_a_cache_without_limit_would_leave(tmp_path: Path) -> None:
    """A get takes at least the latency, and repeated ones make the rest of the time."""
    lcc = started("lcc", tmp_path, *GRAPH, "--shuffle", "--max-ranks", 1).json
    lists = lcc["remote_vertices_per_rank"][0]
    assert 1.7e-6 * lists < lcc["first_get_seconds"] < lcc["communication_seconds"]
    tree = started("barnes_hut", tmp_path, "--bodies", 480, "--first-gets").json
    assert tree["first_get_seconds_per_body"] > 1.7e-6 * tree["first_gets"] / tree["forces"]
    repeated = tree["remote_gets"] - tree["first_gets"]
    saved = tree["force_seconds_per_body"] - tree["first_get_seconds_per_body"]
    assert saved > 1.7e-6 * repeated / tree["forces"]


def test_what_the_best_cache_would_leave(tmp_path: Path) -> None:
    """Its hits take a lookup and a copy, so it is slower than one at no cost, and faster than ours."""
    words = [*GRAPH, "--shuffle", "--max-ranks", 1]
    lcc = started("lcc", tmp_path, *words).json
    assert lcc["first_get_seconds"] < lcc["ideal_cache_seconds"] < lcc["communication_seconds"]
    settings = {"read_ahead_bytes": 0}
    ours = started("lcc", tmp_path, *words, mode="always-cache", settings=settings).json
    assert lcc["ideal_cache_seconds"] < ours["communication_seconds"]
    words = ["--bodies", 480, "--first-gets"]
    once, twice = (started("barnes_hut", tmp_path, *words, "--steps", steps).json for steps in (1, 2))
    for tree in (once, twice):
        ideal = tree["ideal_cache_seconds_per_body"]
        assert tree["first_get_seconds_per_body"] < ideal < tree["force_seconds_per_body"]
    ideal = twice["ideal_cache_seconds_per_body"]
    assert ideal == pytest.approx(once["ideal_cache_seconds_per_body"], rel=0.1)


def test_barnes_hut_is_the_same_and_faster(tmp_path: Path) -> None:
    bodies = ["--bodies", 480, "--steps", 2]
    plain = started("barnes_hut", tmp_path, *bodies)
    for more in ({"mode": "user-defined"}, {"mode": "user-defined", "settings": AS_001}):
        cached = started("barnes_hut", tmp_path, *bodies, **more)
        assert results_of(cached) == results_of(plain)
        assert 1.5 * cached.json["force_seconds"] < plain.json["force_seconds"]


def test_numbers_of_ranks_that_are_no_powers_of_two(tmp_path: Path) -> None:
    """Some of SMPI's algorithms of collective calls do not end then."""
    for ranks in (12, 100):
        words = ["--bodies", 10 * ranks, "--max-bodies", 1]
        run = Starter("barnes_hut", tmp_path, "aries").good(*words, family=SIMULATED, ranks=ranks)
        assert 0 < run.json["forces"] <= ranks


@pytest.mark.parametrize("mode", [None, "acquire"])
def test_each_run_takes_the_same_time(tmp_path: Path, mode: str | None) -> None:
    runs = [started("lcc", tmp_path, *GRAPH, mode=mode).json for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("network", "of_8", "of_1024"),
    [("aries", 1.7, 1024 / 415), ("hdr", 2.1, 1024 / 405), ("ethernet", 16, 1024 / 52)],
)
def test_gets_take_what_the_paper_measured(network: str, of_8: float, of_1024: float) -> None:
    """Microseconds: 000, Table I."""
    launch = mpiexec(SIMULATED, 2, network, without_nearfetch(os.environ))
    command = [*launch.argv, str(PROGRAMS / SIMULATED / "get_latency")]
    output = subprocess.run(command, env=launch.env, capture_output=True, text=True, check=True).stdout
    found = {int(size): float(us) for size, us in (line.split() for line in output.splitlines())}
    assert found[8] == pytest.approx(of_8, rel=0.02)
    assert found[1024] == pytest.approx(of_1024, rel=0.02)


def test_the_summary_is_of_all_ranks() -> None:
    launch = mpiexec(SIMULATED, 16, "aries", without_nearfetch(os.environ))
    words = [*launch.argv, str(PROGRAMS / SIMULATED / "lcc"), *map(str, GRAPH)]
    command = [*NEARFETCH, "run", "--summary", "--", *words]
    run = subprocess.run(command, env=launch.env, capture_output=True, text=True, check=True)
    assert "nearfetch: summary of 16 ranks" in run.stderr


def test_an_unknown_platform_is_refused() -> None:
    for network in ("token-ring", "aries/7"):
        with pytest.raises(ValueError, match=network):
            mpiexec(SIMULATED, 2, network)


def test_it_cannot_be_recorded(tmp_path: Path) -> None:
    launch = mpiexec(SIMULATED, 2, "aries")
    command = [
        *NEARFETCH,
        "record",
        "-o",
        str(tmp_path),
        "--",
        *launch.argv,
        str(PROGRAMS / SIMULATED / "lcc"),
    ]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "smpirun cannot be recorded (" in refused.stderr
