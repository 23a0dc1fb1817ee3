# SPDX-License-Identifier: Apache-2.0
"""Programs whose repetitions go through nearfetch and past it, interleaved."""

from __future__ import annotations

from typing import Iterator

import pytest

from bench import apps, harness, overhead, promises, report

pytestmark = pytest.mark.usefixtures("bench_environment")

# The second and the third of four go past nearfetch.
THROUGH = ((1, 1), (2, 1), (3, 1), (4, 2), (5, 3))


@pytest.mark.parametrize("family", harness.families())
def test_repetitions_of_lcc(family):
    place, graph = harness.Place(family, 2, "shm"), ["--rmat-scale", 6]
    average = apps.measure("lcc", graph, place).report["average"]
    for repetitions, through in THROUGH:
        result = apps.measure("lcc_interleaved", [*graph, "--repeat", repetitions], place, harness.CACHED)
        assert result.outcome.total("gets") == through * result.report["remote_gets"] > 0
        assert result.report["average"] == average


def test_rounds_of_coarrays():
    if not harness.is_built("openmpi", "coarray_transpose_interleaved"):
        pytest.skip("no coarray_transpose (OpenCoarrays was not found)")
    columns, place = 8, harness.Place("openmpi", 2, "shm")
    looked_at = harness.Side("acquire", {"bypass": "off"})
    for rounds, through in THROUGH:
        arguments = ["--columns", columns, "--rounds", rounds]
        plain = apps.measure("coarray_transpose", arguments, place).report
        result = apps.measure("coarray_transpose_interleaved", arguments, place, looked_at)
        # Each image gets the other's elements.
        assert result.outcome.total("gets") == through * 2 * columns**2
        assert (result.report["wrong"], result.report["checksum"]) == (0, plain["checksum"])
        seconds = result.report["communication_seconds_per_round"]
        assert len(seconds) == rounds and min(seconds) > 0


def all_programs() -> Iterator[overhead.Interleaved]:
    yield overhead.Interleaved("lcc", ["--rmat-scale", 6], "communication_seconds_per_repetition")
    if harness.is_built("openmpi", "coarray_transpose_interleaved"):
        each = "communication_seconds_per_round"
        yield overhead.Interleaved("coarray_transpose", ["--columns", 8], each, repeats="--rounds")


@pytest.mark.parametrize("program", list(all_programs()), ids=lambda program: program.name)
def test_rows(program):
    # The last family is Open MPI, where there are coarrays.
    place = harness.Place(harness.families()[-1], 2, "shm")
    quiet = harness.Options(quick=True, shown=False)
    row = program._replace(what="so named").row(place, quiet)
    assert (row["kind"], row["what"], row["network"], row["window"]) == (
        "program",
        "so named",
        str(place),
        "",
    )
    for name in ("ratio", "interposed_ratio"):
        assert 0 < row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    assert row["plain_ns"] > 0 and row["nearfetch_ns"] > 0


def test_turns():
    assert list(overhead.turns([1, 2, 4, 8, 16, 32, 64, 128])) == [(9, 6), (144, 96)]


def test_what_calls_may_take_more():
    # 10 ns each, or 5 %, whichever is more.
    assert (promises.allowed_ns(40, 2), promises.allowed_ns(10_000, 2)) == (20, 500)


def row(kind: str, **intervals: tuple[float, float, float]) -> dict:
    columns = {"kind": kind, "network": "mpich shm", "window": "create", "what": "loop"}
    for name, values in intervals.items():
        columns.update(report.Interval(*values).columns(name))
    return columns


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([row("call", of_allowed=(0.5, 0.4, 1.0)), row("call", of_allowed=(0.1, 0, 0.2))], True),
        ([row("call", of_allowed=(0.5, 0.4, 1.1)), row("call", of_allowed=(0.9, 0.8, 0.9))], False),
        ([row("miss", added_ns=(300, 200, 399))], True),
        ([row("miss", added_ns=(300, 200, 401))], False),
        ([row("program", ratio=(1.0, 0.97, 1.1)), row("program", ratio=(24, 22, 25))], True),
        ([row("program", ratio=(1.0, 0.96, 1.1)), row("program", ratio=(0.98, 0.97, 0.99))], False),
    ],
)
def test_promises_are_claimed_by_the_end_of_the_interval(rows, holds):
    (claim,) = overhead._claims(rows)
    assert claim.holds == holds and f"the worst of {len(rows)}" in claim.text


def test_misses_in_a_full_cache():
    place = harness.Place(harness.families()[0], 2, "shm")
    rows = overhead._misses(place, harness.Options(quick=True, shown=False))
    assert [row["what"] for row in rows] == [f"miss in a full cache, {name}" for name in overhead.POLICIES]
    assert all(row["added_ns"] > 0 and row["calls"] == 2 for row in rows)
    # Ranges of 8 bytes fill the cache, and all later ones are of what they are called.
    side = harness.Side("always-cache", overhead.FULL)
    arguments = ["--window", "create", "--samples", 1000, "--patterns", overhead.MISS]
    counted = harness.run("patterns", arguments, place, side).counters[0]
    assert counted["direct"] == 32 * 1024 / 8
    assert counted["capacity"] + counted["failing"] == counted["gets"] - counted["direct"] > 0
