# SPDX-License-Identifier: Apache-2.0
"""nearby reads what others change between barriers: the same values in mode acquire, with few messages."""

from __future__ import annotations

import pytest
from conftest import Run, Starter

REGION_BYTES = 4096
"""The setting read_ahead_bytes."""


def messages(run: Run) -> int:
    """Messages for gets of all ranks."""
    return sum(rank["gets"] - rank["hits"] - rank["pending_hits"] for rank in run.counters)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_values_in_few_messages(nearby: Starter, family: str, ranks: int) -> None:
    arguments = ["--rounds", 5, "--reads", 1000, "--elements", 4096, "--neighbourhood", 1024]
    plain = nearby.good(*arguments, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    run = nearby.good(*arguments, family=family, ranks=ranks, mode="acquire", settings={"bypass": "off"})
    assert {**run.results, "communication_seconds": ""} == {**plain.results, "communication_seconds": ""}
    gets = sum(rank["gets"] for rank in run.counters)
    assert gets == 5 * 1000 * ranks
    if ranks > 1:
        assert 50 * messages(run) <= gets
        assert all(rank["bytes_read_ahead"] <= rank["read_aheads"] * REGION_BYTES for rank in run.counters)
    ranges = {"bypass": "off", "read_ahead_bytes": 0}
    run = nearby.good(*arguments, family=family, ranks=ranks, mode="acquire", settings=ranges)
    assert run.results["sum"] == plain.results["sum"]
    assert all(rank["read_aheads"] == 0 for rank in run.counters)
    if ranks > 1:
        assert 2 * messages(run) > gets


@pytest.mark.parametrize("ranks, at_once", [(2, 1), (2, 64), (4, 30)])
def test_requests_share_blocks_and_forget_nothing(
    nearby: Starter, family: str, ranks: int, at_once: int
) -> None:
    arguments = ["--rounds", 5, "--reads", 1000, "--neighbourhood", 100, "--requests", at_once]
    plain = nearby.good(*arguments, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    run = nearby.good(*arguments, family=family, ranks=ranks, mode="acquire", settings={"bypass": "off"})
    assert {**run.results, "communication_seconds": ""} == {**plain.results, "communication_seconds": ""}
    # One or two regions after each barrier, and for repeated reads, which may be polls; each element of the
    # first requests, because no completion was seen yet.
    assert 0 < 20 * (messages(run) - at_once * ranks) <= 5 * 1000 * ranks


@pytest.mark.parametrize("ranks", [2, 4])
def test_writes_leave_in_few_messages(nearby: Starter, family: str, ranks: int) -> None:
    arguments = ["--rounds", 4, "--reads", 50, "--writes", 1000, "--elements", 4096, "--neighbourhood", 1024]
    plain = nearby.good(*arguments, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    sides: list[dict[str, object]] = [{}, {"write_combining_bytes": 0}] if ranks == 2 else [{}]
    for off in sides:
        settings = {"bypass": "off", **off}
        run = nearby.good(*arguments, family=family, ranks=ranks, mode="acquire", settings=settings)
        assert {**run.results, "communication_seconds": ""} == {**plain.results, "communication_seconds": ""}
        for rank in run.counters:
            assert rank["puts"] == 4000
            combined = 0 if off else 4000
            assert rank["puts_combined"] == combined
            assert 50 * rank["put_messages"] <= combined


DECISIONS = {"gets: cached", "gets: sampled", "gets: bypassed", "puts: combined", "puts: sent alone"}


def test_settings_as_users_have_them(nearby: Starter, any_family: str) -> None:
    told: dict[str, object] = {"summary": "on"}
    run = nearby.good(
        "--rounds", 3, "--writes", 2000, family=any_family, ranks=2, mode="acquire", settings=told
    )
    assert run.results["wrong"] == "0"
    for (window,) in run.windows:
        decided = {row["what"]: row for row in window["decisions"]}
        assert decided.keys() <= DECISIONS
        assert sum(what.startswith("gets: ") for what in decided) == 1
        for row in decided.values():
            assert row["targets"] == 1
            assert row["plain_ns"] >= 0 and row["ours_ns"] >= 0
    assert "    gets  " in run.stderr


def test_the_summary_says_what_was_saved(nearby: Starter, family: str) -> None:
    settings: dict[str, object] = {"bypass": "off", "summary": "on"}
    run = nearby.good(
        "--rounds", 3, "--writes", 1000, family=family, ranks=2, mode="acquire", settings=settings
    )
    windows = [window for (window,) in run.windows]

    def all_ranks(*counters: str) -> int:
        return sum(window[counter] for window in windows for counter in counters)

    fetched = all_ranks("bytes_from_network", "bytes_read_ahead")
    assert fetched > all_ranks("bytes_from_network"), "what is read ahead came over the network, too"
    assert f" from the cache, {fetched / 1024:.1f} KiB from the network\n" in run.stderr
    sent = f"{all_ranks('puts'):,}, of which {all_ranks('puts_combined'):,} were combined into"
    assert f" {sent} {all_ranks('put_messages'):,} messages\n" in run.stderr


def test_nothing_is_decided_where_nothing_is_cached(nearby: Starter) -> None:
    run = nearby.good("--rounds", 2, ranks=2, mode="off")
    assert [[window["decisions"] for window in windows] for windows in run.windows] == [[[]], [[]]]


def test_wrong_values_are_noticed(nearby: Starter, family: str) -> None:
    few = ["--rounds", 3, "--elements", 512, "--neighbourhood", 512]
    run = nearby(*few, family=family, ranks=2, mode="always-cache", settings={"bypass": "off"})
    assert run.code != 0


@pytest.mark.parametrize("requests", [0, 1])
def test_checked_hits_name_who_breaks_the_rules(nearby: Starter, family: str, requests: int) -> None:
    few = ["--rounds", 3, "--reads", 500, "--elements", 512, "--neighbourhood", 512, "--requests", requests]
    settings: dict[str, object] = {"bypass": "off", "check_hits": 1}
    broken = nearby(*few, family=family, ranks=2, mode="always-cache", settings=settings)
    assert broken.code == 1
    lines = [line for line in broken.stderr.splitlines() if line.startswith("nearfetch: rank")]
    assert len({line.split(":")[1] for line in lines}) == len(lines) > 0, "each rank tells of a place once"
    for line in lines:
        assert ": a hit of 8 bytes at displacement " in line
        assert "breaks what mode always-cache asks for" in line
        assert "called by nearby(" in line
    run = nearby.good(*few, family=family, ranks=2, mode="acquire", settings=settings)
    assert "nearfetch: rank" not in run.stderr
    for counted in run.counters:
        assert counted["checked_hits"] == counted["hits"] > 0
        assert counted["stale_hits"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--elements", 10, "--neighbourhood", 11], "a rank has 10"),
        (["--elements", 0], "--elements"),
        (["--reads", "many"], "--reads"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_arguments(nearby: Starter, arguments: list[object], said: str) -> None:
    run = nearby(*arguments)
    assert run.code == 2
    assert said in run.stderr
