# SPDX-License-Identifier: Apache-2.0
"""assimilation, in C++ and Fortran, gives the same bits on any number of ranks, with and without nearfetch.
It locks for each get, so it has hits under leases, or where locks are promised to be access only."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import PROGRAMS, Run, Starter, assert_refused

ELEMENTS, OBSERVATIONS, CYCLES = 96, 120, 3
SPAN = 4
"""Elements that an observation is the mean of, as the program has it."""
SMALL = ["--elements", ELEMENTS, "--observations", OBSERVATIONS, "--cycles", CYCLES]
PROMISED: dict[str, object] = {"bypass": "off", "locks": "access"}


def printed(run: Run) -> dict[str, float]:
    """The program's output without times; Fortran writes numbers in its own way."""
    return {name: float(value) for name, value in run.results.items() if "seconds" not in name}


def total(run: Run, counter: str) -> int:
    """A counter, of all ranks."""
    return sum(rank[counter] for rank in run.counters)


def served(run: Run) -> int:
    """Gets that needed no message of their own."""
    return total(run, "hits") + total(run, "pending_hits")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_result_with_and_without(assimilation: Starter, family: str, ranks: int) -> None:
    plain = assimilation.good(*SMALL, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    gets = int(plain.results["remote_gets"])
    # Of all reads, those of elements of other ranks: all but one in so many.
    assert gets * ranks == CYCLES * OBSERVATIONS * SPAN * (ranks - 1)
    sides: dict[str, tuple[str, dict[str, object]]] = {
        "as it comes": ("acquire", {}),
        "a lock acquires": ("acquire", {"bypass": "off", "locks": "synchronize"}),
        "under leases": ("acquire", {"bypass": "off"}),
        "promised": ("acquire", PROMISED),
        "promised, as it comes": ("acquire", {"locks": "access"}),
        "transparent": ("transparent", {"bypass": "off"}),
    }
    for name, (mode, settings) in sides.items():
        run = assimilation.good(*SMALL, family=family, ranks=ranks, mode=mode, settings=settings)
        assert printed(run) == printed(plain), name
        assert total(run, "gets") == gets, name
        # One for each get, and one for each rank's own ensembles in each cycle.
        assert total(run, "locks") == gets + CYCLES * ranks, name
        if name in ("a lock acquires", "transparent"):
            assert served(run) == total(run, "locks_elided") == 0, name
        if name == "promised":
            assert (total(run, "hits") > 0) == (total(run, "locks_elided") > 0) == (ranks > 1)
            # A rank misses an element at most once in a cycle.
            assert gets - served(run) <= CYCLES * ELEMENTS * (ranks - 1)
            assert 4 * served(run) >= 3 * gets


# How many hits leases bring by default depends on the time that a cycle takes: each writes, and waits.
@pytest.mark.parametrize(
    "settings", [{"bypass": "off", "lease_us": 500}, {"locks": "access"}], ids=["leases", "promised"]
)
def test_hits_as_users_have_them(assimilation: Starter, family: str, settings: dict[str, object]) -> None:
    assimilation.network = "tcp"
    plain = assimilation.good(*SMALL, family=family, ranks=2)
    run = assimilation.good(*SMALL, family=family, ranks=2, mode="acquire", settings=settings)
    assert printed(run) == printed(plain)
    # The decision to cache takes some gets.
    assert 2 * served(run) > total(run, "gets")


def test_the_promise_is_kept(assimilation: Starter, family: str) -> None:
    settings: dict[str, object] = {**PROMISED, "check_hits": 1}
    run = assimilation.good(*SMALL, family=family, ranks=2, mode="acquire", settings=settings)
    assert total(run, "checked_hits") > 0
    assert total(run, "stale_hits") == 0


def test_wrong_values_are_noticed(assimilation: Starter, family: str) -> None:
    run = assimilation(*SMALL, family=family, ranks=2, mode="always-cache", settings={"bypass": "off"})
    assert run.code == 1
    assert run.stderr.count("values are wrong (the serial run has others): report it") == 1


@pytest.mark.parametrize(
    "more", [[], ["--members", 7, "--span", 1, "--seed", 9], ["--steps", 3, "--cutoff", 2]]
)
def test_same_digest_in_both_languages(tmp_path: Path, family: str, more: list[object]) -> None:
    if not (PROGRAMS / family / "assimilation_fortran").exists():
        pytest.skip(f"no assimilation_fortran (the MPI family {family} has no Fortran)")
    runs = [
        Starter(program, tmp_path).good(*SMALL, *more, family=family, ranks=ranks)
        for program in ("assimilation", "assimilation_fortran")
        for ranks in (1, 3)
    ]
    assert len({run.results["digest"] for run in runs}) == 1
    assert len({float(run.results["error"]) for run in runs}) == 1


def test_digest_depends_on_what_is_asked_for(assimilation: Starter) -> None:
    variants = [[], ["--seed", 2], ["--inflation", 1.2], ["--cutoff", 5], ["--error", 1.5], ["--span", 3]]
    digests = [assimilation.good(*SMALL, *variant).results["digest"] for variant in variants]
    assert len(set(digests)) == len(variants)


def test_more_ranks_than_members_and_observations(assimilation: Starter, family: str) -> None:
    # With a single observation and two members the filter may as well do harm.
    few = ["--elements", 4, "--members", 2, "--observations", 1, "--cutoff", 1, "--no-check"]
    digests = {assimilation.good(*few, family=family, ranks=ranks).results["digest"] for ranks in (1, 3, 4)}
    assert len(digests) == 1


def test_windows_can_be_created(assimilation: Starter, family: str) -> None:
    plain = assimilation.good(*SMALL, family=family, ranks=2)
    created = assimilation.good(*SMALL, "--window", "create", family=family, ranks=2)
    assert printed(created) == printed(plain)


def test_json_has_what_is_printed(assimilation: Starter) -> None:
    run = assimilation.good(*SMALL, ranks=2)
    assert {name: float(run.json[name]) for name in printed(run)} == printed(run)


def test_without_the_check(assimilation: Starter) -> None:
    run = assimilation.good(*SMALL, "--no-check")
    assert "wrong" not in run.results
    assert run.results["digest"] == assimilation.good(*SMALL).results["digest"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--observations", 120, "--members", 2, "--inflation", 4, "--error", 1000],
            "the observations did not help (",
        ),
        (["--observations", 1, "--cycles", 20, "--inflation", 4], "the filter diverged ("),
    ],
)
def test_results_that_are_no_good(assimilation: Starter, arguments: list[object], said: str) -> None:
    run = assimilation("--elements", 96, *arguments, ranks=2)
    assert run.code == 1
    assert run.stderr.count(f": {said}") == 1


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--members", 0], "--members"),
        (["--members", 1], "--members"),
        (["--elements", -96], "--elements"),
        (["--observations", -1], "--observations"),
        (["--span", 0], "--span"),
        (["--elements", 20, "--span", 21], "--span"),
        (["--elements", 20, "--cutoff", 6], "--cutoff"),
        (["--elements", 10000000, "--members", 1000], "members times elements are at most 2^28"),
        (["--observations", 1000000, "--members", 1000], "members times observations are at most 2^28"),
        (["--cutoff", "nan"], "--cutoff"),
        (["--error", "wide"], "--error"),
        (["--inflation", 0.5], "--inflation"),
        (["--cycles", "1e3"], "--cycles"),
        (["--seed"], "--seed"),
        (["--window", "shared"], "--window"),
        (["--json", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
        (["--size", 3], "--size"),
    ],
)
def test_bad_arguments(assimilation: Starter, ranks: int, arguments: list[object], said: str) -> None:
    run = assimilation(*arguments, ranks=ranks)
    assert_refused(run, "assimilation", said)
