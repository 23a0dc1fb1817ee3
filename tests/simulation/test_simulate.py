# SPDX-License-Identifier: Apache-2.0
"""The program `simulate`: what it says when it finds something, and that this can be run again."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

SIMULATE = Path(os.environ["NEARFETCH_BUILD"]) / "tests" / "simulate"
CACHES = ("pages", "ranges", "locks")


def simulate(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs the simulator, quietly."""
    return subprocess.run(
        [str(SIMULATE), *words, "--quiet"], capture_output=True, text=True, timeout=120, check=False
    )


def faults() -> list[str]:
    """The names of all faults, from the help text."""
    return re.findall(r"^\s+([a-z-]+) \((?:pages|ranges|locks)\): ", simulate("--help").stdout, re.MULTILINE)


def test_every_fault_is_found_within_seconds():
    names = faults()
    assert len(names) >= 12
    for name in names:
        result = simulate("--fault", name, "--seconds", "30", "--seed", "5")
        assert result.returncode == 1, name
        found = re.search(r"FAILED: cache (\w+), seed 5, program (0x[0-9a-f]+)", result.stdout)
        assert found, result.stdout
        assert re.search(r"History, shrunk to \d+ operations:\n  #\d+ ", result.stdout), name
        again = re.search(r"To run it again: ./nf simulate (.*)", result.stdout)
        assert again, result.stdout
        repeated = simulate(*again[1].split())
        assert repeated.returncode == 1, name
        assert repeated.stdout.split("History")[1] == result.stdout.split("History")[1]


def test_all_caches_run_and_say_what_they_did():
    result = simulate("--operations", "20000")
    assert result.returncode == 0, result.stdout
    for cache in CACHES:
        done = re.search(rf"^{cache}: (\d+) operations in \d+ programs", result.stdout, re.MULTILINE)
        assert done and int(done[1]) >= 20000


@pytest.mark.parametrize("cache", CACHES)
def test_a_seed_gives_the_same_in_every_run(cache):
    words = ("--cache", cache, "--operations", "100000", "--seed", "7")
    first, second = (simulate(*words).stdout.split("\n", 1)[1] for _ in range(2))
    assert first == second


# In `pages` and `ranges`, without leases. There are no nodes. Why gets go to the network is only noted where
# a report is wanted.
NOT_SIMULATED = (
    *("lease_looks", "lease_waits", "same_node"),
    *("too_large", "first_reads", "forgotten", "forgotten_by_locks", "evicted_before", "not_kept"),
    *("bypassed_before", "overwritten", "distinct_bytes"),
)


def counters_of(cache: str) -> dict[str, int]:
    """What many programs have counted."""
    result = simulate("--cache", cache, "--operations", "300000")
    assert result.returncode == 0, result.stdout
    found = re.findall(r"([a-z_]+) +(\d+)(?=\s)", result.stdout.split("\n", 1)[1])
    return {name: int(value) for name, value in found}


@pytest.mark.parametrize("cache", ["pages", "ranges"])
def test_the_programs_meet_everything_that_is_counted(cache):
    counters = counters_of(cache)
    assert len(counters) > 20
    for name, value in counters.items():
        if name == "stale_hits":
            assert value == 0, "no hit is called old that is not"
        elif name in NOT_SIMULATED:
            assert value == 0, f"{name} {value}: it is simulated after all"
        else:
            assert value > 50, f"{name} {value}"


def test_programs_with_locks_meet_leases():
    counters = counters_of("locks")
    for name in (
        "hits",
        "partial_hits",
        "locks_elided",
        "lease_looks",
        "lease_waits",
        "evictions",
        "read_aheads",
    ):
        assert counters[name] > 200, f"{name} {counters[name]}"


@pytest.mark.parametrize(
    "words", [["--fault", "sunspots"], ["--program", "1"], ["--cache", "disks"], ["--operations", "0"]]
)
def test_bad_use_is_refused(words):
    result = simulate(*words)
    assert result.returncode not in (0, 1)
    assert result.stderr
