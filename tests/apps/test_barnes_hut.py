# SPDX-License-Identifier: Apache-2.0
"""barnes_hut against direct summation, over ranks, MPI families and its own cache, and on bad input."""

from __future__ import annotations

import pytest
from conftest import FAMILIES, Starter

SMALL = ["--bodies", 500, "--steps", 2]


def test_forces_keep_the_bound_of_theta(barnes_hut: Starter, family: str) -> None:
    """The bound: J. Salmon and M. Warren, Skeletons from the treecode closet, 1994 (see walk.hpp)."""
    before = 0.0
    for theta in (0.2, 0.35, 0.5):
        results = barnes_hut.good(
            "--bodies", 800, "--theta", theta, "--check", family=family, ranks=2
        ).results
        assert results["check_over_bound"] == "0"
        assert 0 < float(results["check_max_share_of_bound"]) <= 1
        # Far below the bound, which makes the method useful: the cells' errors cancel.
        assert before < float(results["check_rms_relative_error"]) < 0.02
        before = float(results["check_rms_relative_error"])


def test_theta_zero_sums_directly(barnes_hut: Starter) -> None:
    results = barnes_hut.good("--bodies", 200, "--theta", 0, "--check", ranks=2).results
    assert float(results["check_max_relative_error"]) < 1e-12
    assert results["check_over_bound"] == "0"
    # Every walk visits every leaf and every cell.
    assert int(results["visited_nodes"]) == 200 * int(results["tree_nodes"])


def test_results_are_the_same_bit_for_bit_on_any_ranks_and_family(barnes_hut: Starter) -> None:
    found = set()
    for family in FAMILIES:
        for ranks in (1, 2, 4):
            results = barnes_hut.good(*SMALL, family=family, ranks=ranks).results
            found.add(
                (results["checksum"], results["energy"], results["visited_nodes"], results["tree_nodes"])
            )
    assert len(found) == 1


def test_the_checksum_tells_results_apart(barnes_hut: Starter) -> None:
    sums = [
        barnes_hut.good("--bodies", 100, *more, ranks=1).results["checksum"]
        for more in ([], ["--seed", 2], ["--theta", 0.49], ["--softening", 0.026], ["--steps", 2])
    ]
    assert len(set(sums)) == len(sums)


@pytest.mark.parametrize("blocks", [("64KiB", 1024), ("4KiB", 100), ("7", "7"), ("1MiB", 104)])
def test_the_built_in_cache_changes_gets_only(
    barnes_hut: Starter, family: str, blocks: tuple[object, int]
) -> None:
    capacity, block = blocks
    arguments = ["--bodies", 200, "--steps", 2]
    plain = barnes_hut.good(*arguments, family=family, ranks=2).results
    cached = barnes_hut.good(
        *arguments,
        "--cache",
        "block",
        "--cache-bytes",
        capacity,
        "--block-bytes",
        block,
        family=family,
        ranks=2,
    ).results
    assert cached["checksum"] == plain["checksum"]
    assert cached["remote_reads"] == plain["remote_reads"] == plain["remote_gets"]
    assert int(plain["remote_bytes"]) == 104 * int(plain["remote_gets"])
    assert cached["remote_gets"] == cached["block_misses"]
    assert int(cached["remote_bytes"]) == int(block) * int(cached["remote_gets"])
    assert int(cached["block_hits"]) + int(cached["block_misses"]) >= int(cached["remote_reads"])
    if capacity == "1MiB":
        # A cache for all nodes: each node is fetched at most once per step.
        assert int(cached["remote_gets"]) <= int(cached["tree_nodes"])
        assert int(cached["remote_gets"]) * 5 < int(plain["remote_gets"])


def test_windows_can_be_created_and_get_infos(barnes_hut: Starter, family: str) -> None:
    plain = barnes_hut.good(*SMALL, family=family, ranks=2).results
    other = barnes_hut.good(
        *SMALL, "--window", "create", "--info", "a_key=value", family=family, ranks=2
    ).results
    assert (plain["checksum"], plain["remote_gets"]) == (other["checksum"], other["remote_gets"])


def test_energy_is_kept(barnes_hut: Starter) -> None:
    results = barnes_hut.good("--bodies", 300, "--steps", 100, ranks=2).results
    assert float(results["energy"]) == pytest.approx(-0.25, abs=0.05)
    assert abs(float(results["energy_change"])) < 0.01


def test_part_of_the_bodies(barnes_hut: Starter) -> None:
    results = barnes_hut.good(*SMALL, "--max-bodies", 10, ranks=2)
    assert results.results["forces"] == "40"
    assert results.json["forces_per_rank"] == [20, 20]
    assert "energy" not in results.results
    whole = barnes_hut.good(*SMALL, ranks=2)
    assert sum(whole.json["forces_per_rank"]) == 1000
    assert sum(whole.json["remote_gets_per_rank"]) == int(whole.results["remote_gets"])


def test_first_gets_are_told_apart(barnes_hut: Starter) -> None:
    results = barnes_hut.good(*SMALL, "--first-gets", ranks=2).results
    assert 0 < int(results["first_gets"]) <= int(results["tree_nodes"])
    assert int(results["first_gets"]) * 5 < int(results["remote_gets"])
    assert 0 < float(results["first_get_seconds_per_body"]) < float(results["force_seconds_per_body"])
    assert "first_gets" not in barnes_hut.good(*SMALL, ranks=2).results


@pytest.mark.parametrize("bodies", [1, 2, 3])
def test_fewer_bodies_than_ranks(barnes_hut: Starter, bodies: int) -> None:
    results = barnes_hut.good("--bodies", bodies, "--steps", 2, "--check", ranks=4).results
    assert results["forces"] == str(2 * bodies)
    assert results["check_over_bound"] == "0"


def test_progress_goes_to_standard_error(barnes_hut: Starter) -> None:
    assert "100%" in barnes_hut.good("--bodies", 50, "--progress", ranks=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bodies", "0"], "--bodies"),
        (["--steps", "0"], "--steps"),
        (["--theta", "nan"], "'nan' is not a number from 0 to 2"),
        (["--cache", "lru"], "--cache"),
        (["--cache-bytes", "512", "--block-bytes", "1024"], "--cache-bytes is smaller than --block-bytes ("),
        (["--info", "novalue"], "'novalue' is not KEY=VALUE"),
        (["--json", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
        (["word"], "word"),
    ],
)
def test_bad_use(barnes_hut: Starter, arguments: list[str], message: str) -> None:
    run = barnes_hut(*arguments, ranks=2)
    assert run.code == 2
    lines = [line for line in run.stderr.splitlines() if line.startswith("barnes_hut: ")]
    assert len(lines) == 1
    assert message in lines[0]
