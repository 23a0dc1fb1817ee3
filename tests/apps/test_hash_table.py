# SPDX-License-Identifier: Apache-2.0
"""hash_table gives the same results with and without nearfetch, while values change and a counter is
incremented."""

from __future__ import annotations

import pytest
from conftest import Run, Starter

SMALL = ["--keys", 600, "--lookups", 500, "--rounds", 3]
CACHE_ALL: dict[str, object] = {"bypass": "off"}
RELAXED: dict[str, object] = {**CACHE_ALL, "atomics": "relaxed"}


def printed(run: Run) -> dict[str, str]:
    """The program's output without times."""
    return {name: value for name, value in run.results.items() if "seconds" not in name}


def hits(run: Run) -> int:
    """Hits of all ranks, on both windows."""
    return sum(rank["hits"] for rank in run.counters)


def assert_seen(run: Run) -> None:
    """nearfetch saw each get."""
    assert [rank["gets"] for rank in run.counters] == run.json["remote_gets_per_rank"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_results_while_values_change(hash_table: Starter, family: str, ranks: int) -> None:
    arguments = [*SMALL, "--changes", 200, "--counter-every", 10]
    plain = hash_table.good(*arguments, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    assert plain.results["counted"] == str(3 * 500 // 10 * ranks)
    assert int(plain.results["found"]) + int(plain.results["absent"]) == 3 * 500 * ranks
    sides: list[tuple[str, str, dict[str, object]]] = [
        ("transparent", "transparent", CACHE_ALL),
        ("acquire", "acquire", CACHE_ALL),
        ("relaxed", "acquire", RELAXED),
    ]
    if ranks == 2:
        sides.append(("as it comes", "acquire", {}))
    runs = {
        name: hash_table.good(*arguments, family=family, ranks=ranks, mode=mode, settings=settings)
        for name, mode, settings in sides
    }
    for name, run in runs.items():
        assert printed(run) == printed(plain), name
        assert_seen(run)
    assert hits(runs["transparent"]) == 0
    if ranks > 1:
        # Each fetch-and-add is an acquire, unless it is promised to be only a count.
        assert 0 < hits(runs["acquire"]) < hits(runs["relaxed"])
        gets = sum(rank["gets"] for rank in runs["relaxed"].counters)
        assert hits(runs["relaxed"]) > gets / 2


def test_read_only_look_ups_in_any_mode(hash_table: Starter, family: str) -> None:
    plain = hash_table.good(*SMALL, family=family, ranks=2)
    for mode in ("always-cache", "user-defined", "acquire"):
        run = hash_table.good(*SMALL, family=family, ranks=2, mode=mode, settings=CACHE_ALL)
        assert printed(run) == printed(plain)
        assert_seen(run)
        # With two ranks, one reads at most all slots of the other, once.
        gets = sum(rank["gets"] for rank in run.counters)
        assert gets - hits(run) <= int(run.results["slots"])


def test_wrong_values_are_noticed(hash_table: Starter, family: str) -> None:
    arguments = [*SMALL, "--changes", 500]
    run = hash_table(*arguments, family=family, ranks=2, mode="always-cache", settings=CACHE_ALL)
    assert run.code == 1


def test_keys_that_are_there_are_found(hash_table: Starter) -> None:
    few = ["--keys", 3, "--lookups", 50]
    results = hash_table.good(*few, "--absent", 0, "--load", 0.95, ranks=4).results
    assert (results["found"], results["absent"], results["counted"]) == ("200", "0", "0")
    assert int(hash_table.good(*few, "--absent", 1, "--skew", 0, ranks=2).results["absent"]) > 0


def test_popular_keys_are_looked_up_more_often(hash_table: Starter) -> None:
    misses = [
        sum(
            rank["gets"] - rank["hits"]
            for rank in hash_table.good(
                *("--keys", 5000, "--lookups", 2000, "--skew", skew),
                ranks=2,
                mode="always-cache",
                settings={**CACHE_ALL, "read_ahead_bytes": 0},
            ).counters
        )
        for skew in (0, 1, 2)
    ]
    assert misses[0] > 1.5 * misses[1] > 3 * misses[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--keys", 0], "--keys"),
        (["--load", 1], "'1' is not a number from 0.01 to 0.95"),
        (["--skew", "nan"], "'nan' is not a number from 0 to 4"),
        (["--absent", -1], "--absent"),
        (["--lookups", "many"], "--lookups"),
        (["--counter-every", "-1"], "--counter-every"),
        (["--seed", "-1"], "--seed"),
        (["--json", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
    ],
)
def test_bad_arguments(hash_table: Starter, arguments: list[object], said: str) -> None:
    run = hash_table(*arguments, ranks=2)
    assert run.code == 2
    assert run.stderr.count("hash_table: ") == 1
    assert said in run.stderr


def test_a_table_that_ranks_race_for_holds_what_is_right(hash_table: Starter, family: str) -> None:
    arguments = ["--lock-free", "--keys", 1000, "--lookups", 3000]
    plain = hash_table.good(*arguments, family=family, ranks=2)
    for mode in ("transparent", "acquire"):
        run = hash_table.good(*arguments, family=family, ranks=2, mode=mode, settings=CACHE_ALL)
        assert run.results["wrong"] == "0"
        assert int(run.results["found"]) + int(run.results["computed"]) == 2 * 3000
        # A rank may not see what another one has stored since: then both compute it.
        assert int(run.results["computed"]) <= 2 * int(run.results["kept"])
        assert int(run.results["kept"]) >= 0.95 * int(plain.results["kept"])
        assert (hits(run) > 0) == (mode == "acquire")
