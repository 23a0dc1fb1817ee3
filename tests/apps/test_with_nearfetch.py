# SPDX-License-Identifier: Apache-2.0
"""lcc and barnes_hut give the same results with and without nearfetch, bit for bit, on 1, 2 and 4 ranks.

All output except times, and each vertex's coefficient in lcc's file, is compared with the plain run.
Barnes-Hut's checksum covers the bits of every force of every step. Counters show that nearfetch saw each
remote get, and served what its mode allows. With `bypass=off` it caches every target, so that there are
hits to count; runs with default settings decide by themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import pytest
from conftest import Run, Starter

RANKS = (1, 2, 4)
CACHE_ALL: dict[str, object] = {"bypass": "off"}
DEFAULTS: dict[str, object] = {}
OUTCOMES = [
    "hits",
    "partial_hits",
    "pending_hits",
    "direct",
    "conflicting",
    "capacity",
    "failing",
    "bypassed",
]


def printed(run: Run) -> dict[str, str]:
    """The program's output without times."""
    return {name: value for name, value in run.results.items() if "seconds" not in name}


def assert_seen(run: Run, ranks: int) -> None:
    """nearfetch was in each rank, counted every remote get, and lost none."""
    assert len(run.counters) == ranks
    for rank, counted in enumerate(run.counters):
        assert counted["gets"] == run.json["remote_gets_per_rank"][rank]
        assert counted["gets"] == sum(counted[outcome] for outcome in OUTCOMES)
        assert (counted["gets"] > 0) == (ranks > 1)


def assert_hits(run: Run, ranks: int, mode: str, settings: dict[str, object]) -> None:
    """Modes that keep data had hits on every rank; transparent had none."""
    for counted in run.counters:
        if mode == "transparent":
            assert counted["hits"] == 0
        elif ranks > 1 and settings == CACHE_ALL:
            assert counted["hits"] > 0
            assert 0 < counted["bytes_from_network"] < counted["bytes_requested"]


def lcc_run(
    lcc: Starter,
    graph: list[object],
    scratch: Path,
    family: str,
    ranks: int,
    mode: Optional[str] = None,
    settings: Optional[dict[str, object]] = None,
) -> tuple[Run, bytes]:
    """A run of lcc, and the bytes of its coefficient file."""
    path = scratch / "coefficients"
    path.unlink(missing_ok=True)
    run = lcc.good(*graph, "--per-vertex", path, family=family, ranks=ranks, mode=mode, settings=settings)
    return run, path.read_bytes()


@pytest.mark.parametrize("ranks", RANKS)
def test_lcc_of_the_real_graph(
    lcc: Starter, family: str, ranks: int, real_graph: Path, tmp_path: Path
) -> None:
    graph: list[object] = [real_graph, "--max-vertices", 1000]
    plain, coefficients = lcc_run(lcc, graph, tmp_path, family, ranks)
    assert coefficients.count(b"\n") == 1000 * ranks
    for mode in ("always-cache", "acquire", "transparent"):
        run, found = lcc_run(lcc, graph, tmp_path, family, ranks, mode, CACHE_ALL)
        assert printed(run) == printed(plain), mode
        assert found == coefficients, mode
        assert_seen(run, ranks)
        assert_hits(run, ranks, mode, CACHE_ALL)


def test_lcc_with_a_lock_for_each_get(lcc: Starter, family: str) -> None:
    graph: list[object] = ["--rmat-scale", 8, "--edge-factor", 8]
    # In shared memory, where gets are there when they return, there are no leases.
    lcc.network = "tcp"
    plain = lcc.good(*graph, family=family, ranks=2)
    assert printed(lcc.good(*graph, "--lock-each", family=family, ranks=2)) == printed(plain)
    for locks in ("synchronize", "auto", "access"):
        settings = {**CACHE_ALL, "locks": locks}
        run = lcc.good(*graph, "--lock-each", family=family, ranks=2, mode="acquire", settings=settings)
        assert printed(run) == printed(plain)
        assert_seen(run, 2)
        for counted in run.counters:
            # A lock is an acquire, unless there is a lease, or it is promised only to open an epoch.
            assert (counted["hits"] > 0) == (locks != "synchronize")
            assert (counted["lease_looks"] > 0) == (locks == "auto")
            assert counted["locks_elided"] <= counted["hits"] + counted["pending_hits"]
            assert (counted["locks_elided"] > 0) == (locks != "synchronize")


CASES = [(1, CACHE_ALL), (2, CACHE_ALL), (4, CACHE_ALL), (2, DEFAULTS)]
"""Ranks and settings of the small runs."""


def test_lcc_of_a_small_graph(lcc: Starter, family: str, tmp_path: Path) -> None:
    graph: list[object] = ["--rmat-scale", 9, "--edge-factor", 8, "--seed", 3]
    results = set()
    for ranks, settings in CASES:
        plain, coefficients = lcc_run(lcc, graph, tmp_path, family, ranks)
        for mode in ("always-cache", "acquire", "transparent"):
            run, found = lcc_run(lcc, graph, tmp_path, family, ranks, mode, settings)
            assert printed(run) == printed(plain), (mode, ranks)
            assert found == coefficients, (mode, ranks)
            assert_seen(run, ranks)
            assert_hits(run, ranks, mode, settings)
        results.add((plain.results["average"], plain.results["triangles"], coefficients))
    assert len(results) == 1


def test_barnes_hut(barnes_hut: Starter, family: str) -> None:
    # Several steps: the tree is rebuilt in place, so data cached in a step is stale in the next.
    arguments = ["--bodies", 200, "--steps", 3]
    results = set()
    for ranks, settings in CASES:
        plain = barnes_hut.good(*arguments, family=family, ranks=ranks)
        for mode in ("user-defined", "acquire", "transparent"):
            run = barnes_hut.good(*arguments, family=family, ranks=ranks, mode=mode, settings=settings)
            assert printed(run) == printed(plain), (mode, ranks)
            assert_seen(run, ranks)
            assert_hits(run, ranks, mode, settings)
        results.add((plain.results["checksum"], plain.results["energy"]))
    assert len(results) == 1
