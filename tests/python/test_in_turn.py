# SPDX-License-Identifier: Apache-2.0
"""Programs whose repetitions go through nearfetch and past it in turn."""

from __future__ import annotations

from typing import Iterator

import pytest

from bench import apps, harness, never_slower

pytestmark = pytest.mark.usefixtures("bench_environment")

# The second and the third of four go past nearfetch.
THROUGH = ((1, 1), (2, 1), (3, 1), (4, 2), (5, 3))


@pytest.mark.parametrize("family", harness.families())
def test_repetitions_of_lcc(family):
    place, graph = harness.Place(family, 2, "shm"), ["--rmat-scale", 6]
    average = apps.measure("lcc", graph, place).report["average"]
    for repetitions, through in THROUGH:
        result = apps.measure("lcc_in_turn", [*graph, "--repeat", repetitions], place, harness.CACHED)
        assert result.outcome.total("gets") == through * result.report["remote_gets"] > 0
        assert result.report["average"] == average


def test_rounds_of_coarrays():
    if not harness.is_built("openmpi", "coarray_transpose_in_turn"):
        pytest.skip("no coarray_transpose (OpenCoarrays was not found)")
    columns, place = 8, harness.Place("openmpi", 2, "shm")
    looked_at = harness.Side("acquire", {"bypass": "off"})
    for rounds, through in THROUGH:
        arguments = ["--columns", columns, "--rounds", rounds]
        plain = apps.measure("coarray_transpose", arguments, place).report
        result = apps.measure("coarray_transpose_in_turn", arguments, place, looked_at)
        # Each image gets the other's elements.
        assert result.outcome.total("gets") == through * 2 * columns**2
        assert (result.report["wrong"], result.report["checksum"]) == (0, plain["checksum"])
        seconds = result.report["communication_seconds_per_round"]
        assert len(seconds) == rounds and min(seconds) > 0


def all_programs() -> Iterator[never_slower.ProgramInTurn]:
    yield never_slower.ProgramInTurn("lcc", ["--rmat-scale", 6], "communication_seconds_per_repetition")
    if harness.is_built("openmpi", "coarray_transpose_in_turn"):
        each = "communication_seconds_per_round"
        yield never_slower.ProgramInTurn("coarray_transpose", ["--columns", 8], each, repeats="--rounds")


@pytest.mark.parametrize("program", list(all_programs()), ids=lambda program: program.name)
def test_rows(program):
    # The last family is Open MPI, where there are coarrays.
    place = harness.Place(harness.families()[-1], 2, "shm")
    quiet = harness.Options(quick=True, rounds=1, shown=False)
    row = program._replace(what="so named").row(place, never_slower.SIDES, 2, quiet)
    assert (row["what"], row["network"], row["window"]) == ("so named", str(place), "")
    for name in ("ratio", "plain_ratio", "interposed_ratio", "process_ratio"):
        assert 0 < row[f"{name}_q1"] <= row[name] <= row[f"{name}_q3"]
    assert row["plain_ns"] > 0 and row["nearfetch_ns"] > 0


def test_turns():
    assert list(never_slower.turns([1, 2, 4, 8, 16, 32, 64, 128])) == [(9, 6), (144, 96)]
