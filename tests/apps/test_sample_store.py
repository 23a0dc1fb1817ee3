# SPDX-License-Identifier: Apache-2.0
"""sample_store, a Python program, reads the same bytes with and without nearfetch. It locks for each sample,
so it has hits where locks are promised to be access only, unless its ranks meet after each batch."""

from __future__ import annotations

import sys

import pytest
from conftest import FAMILIES, SAMPLE_STORE, Run, Starter, assert_refused, finish

from nearfetch.mpiexec import mpiexec

SAMPLES, EPOCHS = 60, 4
SMALL = ["--samples", SAMPLES, "--epochs", EPOCHS, "--batch", 8, "--max-bytes", 4096]
PROMISED: dict[str, object] = {"bypass": "off", "locks": "access"}


def printed(run: Run) -> dict[str, str]:
    """The program's output without times."""
    return {name: value for name, value in run.results.items() if "seconds" not in name}


def total(run: Run, counter: str) -> int:
    """A counter, of all ranks and both windows."""
    return sum(rank[counter] for rank in run.counters)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("more", [[], ["--allreduce"], ["--index", "window"]])
def test_same_result_with_and_without(
    sample_store: Starter, family: str, ranks: int, more: list[object]
) -> None:
    plain = sample_store.good(*SMALL, *more, family=family, ranks=ranks)
    assert plain.results["wrong"] == "0"
    gets = int(plain.results["remote_gets"])
    assert (gets > 0) == (ranks > 1)
    sides: dict[str, tuple[str, dict[str, object]]] = {
        "as it comes": ("acquire", {}),
        "promised": ("acquire", PROMISED),
        "transparent": ("transparent", {"bypass": "off"}),
    }
    windows = 2 if "window" in more else 1
    for name, (mode, settings) in sides.items():
        run = sample_store.good(*SMALL, *more, family=family, ranks=ranks, mode=mode, settings=settings)
        assert printed(run) == printed(plain), name
        assert [rank["gets"] for rank in run.counters] == run.json["remote_gets_per_rank"], name
        # One for each get, and one to fill each window.
        assert total(run, "locks") == gets + windows * ranks, name
        if name == "transparent":
            assert total(run, "hits") == 0
        if name == "promised":
            misses = gets - total(run, "hits") - total(run, "pending_hits")
            # A rank reads no sample twice between two collectives.
            if "--allreduce" not in more:
                assert (total(run, "hits") > 0) == (ranks > 1)
                assert misses <= windows * SAMPLES * (ranks - 1)


def test_hits_as_users_have_them(sample_store: Starter, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Open MPI's windows over TCP refuse several threads. With a single one locks of hits are elided.
    monkeypatch.setenv("MPI4PY_RC_THREAD_LEVEL", "funneled")
    sample_store.network = "tcp"
    plain = sample_store.good(*SMALL, family=family, ranks=2)
    run = sample_store.good(*SMALL, family=family, ranks=2, mode="acquire", settings={"locks": "access"})
    assert printed(run) == printed(plain)
    assert 0 < total(run, "locks_elided") <= total(run, "hits")


def test_samples_that_nobody_writes_may_stay_in_spite_of_collectives(
    sample_store: Starter, family: str
) -> None:
    info = ["--info", "nearfetch_mode=always-cache"]
    plain = sample_store.good(*SMALL, "--allreduce", *info, family=family, ranks=2)
    run = sample_store.good(
        *SMALL, "--allreduce", *info, family=family, ranks=2, mode="acquire", settings={"bypass": "off"}
    )
    assert printed(run) == printed(plain)
    assert total(run, "gets") - total(run, "hits") - total(run, "pending_hits") <= SAMPLES


def test_digest_depends_on_samples_alone(sample_store: Starter, family: str) -> None:
    variants: list[list[object]] = [[], ["--index", "window"], ["--allreduce"], ["--batch", 1]]
    digests = {
        sample_store.good(*SMALL, *variant, family=family, ranks=ranks).results["digest"]
        for ranks, variant in zip((1, 2, 3, 4), variants)
    }
    assert len(digests) == 1
    assert sample_store.good(*SMALL, "--seed", 2, family=family).results["digest"] not in digests


def test_small_samples(sample_store: Starter, family: str) -> None:
    empty = ["--samples", 5, "--min-bytes", 0, "--max-bytes", 0]
    results = sample_store.good(*empty, family=family, ranks=2).results
    assert (results["bytes"], results["digest"]) == (str(5 * 16), "0")


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--samples", 0], "argument --samples: '0' is not a whole number from 1 to 10000000"),
        (["--samples", -5], "argument --samples: '-5' is not"),
        (["--min-bytes", -1], "argument --min-bytes: '-1' is not"),
        (["--min-bytes", 20, "--max-bytes", 10], "--min-bytes 20 is above --max-bytes 10"),
        (["--batch", "many"], "argument --batch: 'many' is not"),
        (["--epochs", 0], "argument --epochs: '0' is not"),
        (["--index", "none"], "--index"),
        (["--info", "=v"], "'=v' is not KEY=VALUE"),
        (["--json", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
        (["--fly"], "--fly"),
    ],
)
def test_bad_arguments(sample_store: Starter, ranks: int, arguments: list[object], said: str) -> None:
    run = sample_store(*arguments, ranks=ranks)
    assert_refused(run, "sample_store: ", said)


def test_fewer_samples_than_ranks(sample_store: Starter, family: str) -> None:
    run = sample_store("--samples", 2, family=family, ranks=3)
    assert run.code == 2
    assert run.stderr.count("sample_store: --samples 2 are fewer than the 3 ranks that share them (") == 1


def test_help_is_said_once() -> None:
    launch = mpiexec("mpich" if "mpich" in FAMILIES else FAMILIES[0], 2)
    code, said, _ = finish([*launch.argv, sys.executable, str(SAMPLE_STORE), "--help"], launch.env)
    assert code == 0
    assert said.count("usage: sample_store ") == 1
