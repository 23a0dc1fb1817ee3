# SPDX-License-Identifier: Apache-2.0
"""coarray_transpose reads single elements, each under a lock: few messages if locks are promised to be access
only."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, Starter

PROMISED: dict[str, object] = {"bypass": "off", "locks": "access"}


def messages(run: Run) -> int:
    """Messages for gets of all images."""
    return sum(rank["gets"] - rank["hits"] - rank["pending_hits"] for rank in run.counters)


def results(run: Run) -> dict[str, str]:
    """All output except times."""
    return {name: value for name, value in run.results.items() if not name.startswith("communication")}


def test_hand_worked(coarray_transpose: Starter) -> None:
    run = coarray_transpose.good("--columns", 2, "--rounds", 1, family="openmpi", ranks=1)
    # Elements 31 r + 17 c + 13, transposed, times their row.
    expected = 1 * (31 + 17 + 13) + 2 * (31 + 34 + 13) + 1 * (62 + 17 + 13) + 2 * (62 + 34 + 13)
    assert results(run) == {"ranks": "1", "reads": "4", "checksum": str(expected), "wrong": "0"}
    assert {name: str(run.json[name]) for name in results(run)} == results(run)
    (seconds,) = run.json["communication_seconds_per_round"]
    assert seconds == run.json["communication_seconds"] > 0


@pytest.mark.parametrize("images", [1, 2, 4])
def test_same_result_in_few_messages(coarray_transpose: Starter, images: int) -> None:
    columns, rounds = 24, 3
    arguments = ["--columns", columns, "--rounds", rounds]
    plain = coarray_transpose.good(*arguments, family="openmpi", ranks=images)
    for settings in ({"bypass": "off", "locks": "synchronize"}, PROMISED):
        run = coarray_transpose.good(
            *arguments, family="openmpi", ranks=images, mode="acquire", settings=settings
        )
        assert results(run) == results(plain)
        # The runtime reads an image's own elements from memory.
        gets = sum(rank["gets"] for rank in run.counters)
        assert gets == rounds * images * (images - 1) * columns**2
        locks, elided = (sum(rank[name] for rank in run.counters) for name in ("locks", "locks_elided"))
        # Each read has its own lock; locks of hits are elided.
        assert locks >= gets
        assert elided == (gets - messages(run) if settings == PROMISED else 0)
        if settings == PROMISED:
            assert 10 * messages(run) <= gets
        else:
            assert messages(run) == gets, "a lock may say that another image has written"


def test_settings_as_users_have_them(coarray_transpose: Starter) -> None:
    arguments = ["--columns", 64, "--rounds", 2]
    settings: dict[str, object] = {"locks": "access"}
    run = coarray_transpose.good(*arguments, family="openmpi", ranks=2, mode="acquire", settings=settings)
    assert run.results["wrong"] == "0"


def test_wrong_values_are_noticed(coarray_transpose: Starter) -> None:
    stale: dict[str, object] = {"bypass": "off"}
    few = ["--columns", 8, "--rounds", 2]
    run = coarray_transpose(*few, family="openmpi", ranks=2, mode="always-cache", settings=stale)
    assert run.code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--columns", 0], "--columns 0 (it is a whole number from 1 to 99999)"),
        (["--rounds", "many"], "--rounds many"),
        (["--rounds", "1e3"], "--rounds 1e3"),
        (["--rounds", "123456"], "--rounds 123456"),
        (["--size", 3], "unknown argument --size"),
    ],
)
def test_bad_arguments(coarray_transpose: Starter, arguments: list[object], said: str) -> None:
    run = coarray_transpose(*arguments, family="openmpi", ranks=2)
    assert run.code == 2
    assert run.stderr.count(said) == 1


def test_results_that_cannot_be_written(coarray_transpose: Starter, tmp_path: Path) -> None:
    run = coarray_transpose("--columns", 2, "--json", tmp_path, family="openmpi", ranks=1)
    assert run.code == 2
    assert "cannot be written" in run.stderr
