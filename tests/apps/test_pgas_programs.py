# SPDX-License-Identifier: Apache-2.0
"""The SPMD programs give the same results with and without their cache, on every transport and number of
ranks, and the cache saves the messages that it promises to save."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Optional

import pytest
from conftest import PROGRAMS, TIMEOUT_SECONDS, sanitizer_environment

from nearfetch.launch import mpiexec

ACCESSES = ("--accesses", 1500, "--elements", 200_000)
SMALL: dict[str, tuple[object, ...]] = {
    "copy": ("--elements", 3000),
    "rand_gets": ACCESSES,
    "rand_puts": ACCESSES,
    "prefetch": ACCESSES,
    "ptrans": ("--rows", 70, "--columns", 45),
    "ssca2": ("--scale", 6, "--sources", 5),
    "transpose": ("--order", 37, "--iterations", 3),
}
"""The programs, with arguments that make them quick."""
TRANSPOSE_VERSIONS = ("base", "ac", "ac-sd", "mc", "mc-sd", "hand")
VIRTUAL = ("--network", "fdr-ib", "--virtual")


def finish(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def start(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program whose ranks are threads."""
    env = sanitizer_environment(dict(os.environ), PROGRAMS.parent)
    return finish([str(PROGRAMS / "inproc" / name), *map(str, arguments)], env)


def start_mpi(name: str, family: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program on two ranks of an MPI family."""
    launch = mpiexec(family, 2, "shm", dict(os.environ))
    env = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", **sanitizer_environment(launch.env, PROGRAMS.parent)}
    return finish([*launch.argv, str(PROGRAMS / family / name), *map(str, arguments)], env)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one line that a good run prints."""
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == 1, done.stdout
    result = json.loads(lines[0])
    assert result["right"] == 1
    return result


def run(name: str, *arguments: object, family: Optional[str] = None) -> dict[str, Any]:
    done = start(name, *arguments) if family is None else start_mpi(name, family, *arguments)
    return report(done)


@pytest.fixture(scope="module")
def checksums() -> dict[str, str]:
    """What each program has to find: its own result on one rank, where nothing is remote."""
    return {name: run(name, *arguments, "--ranks", 1)["checksum"] for name, arguments in SMALL.items()}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("where", [(), VIRTUAL, ("--network", "10gbe", "--virtual", "--jitter-ns", 20_000)])
def test_same_result_on_threads(name, ranks, where, checksums):
    cached = run(name, *SMALL[name], "--ranks", ranks, *where)
    uncached = run(name, *SMALL[name], "--ranks", ranks, *where, "--no-cache")
    assert cached["checksum"] == uncached["checksum"] == checksums[name]
    assert cached["ranks"] == uncached["ranks"] == ranks
    assert cached["hits"] + cached["misses"] + cached["puts"] > 0
    assert uncached["hits"] == uncached["misses"] == uncached["puts"] == 0
    assert uncached["get_messages"] + uncached["put_messages"] > 0


@pytest.mark.parametrize("name", SMALL)
def test_same_result_on_mpi(name, any_family, checksums):
    cached = run(name, *SMALL[name], family=any_family)
    uncached = run(name, *SMALL[name], "--no-cache", family=any_family)
    assert cached["checksum"] == uncached["checksum"] == checksums[name]
    assert cached["mpi"] == any_family and cached["ranks"] == 2
    if name != "rand_puts":
        assert cached["get_messages"] <= uncached["get_messages"]


@pytest.mark.parametrize("name", SMALL)
def test_smallest_caches(name, checksums):
    tiny = ("--cache-bytes", 4096, "--dirty-pages", 1, "--operations", 2)
    for more in (tiny, (*tiny, "--policy", "s3fifo"), (*tiny, "--no-read-ahead", "--no-combine-pages")):
        assert run(name, *SMALL[name], *VIRTUAL, *more)["checksum"] == checksums[name]


@pytest.mark.parametrize("name", SMALL)
def test_virtual_time_repeats_itself(name, checksums):
    words = (*SMALL[name], *VIRTUAL, "--ranks", 3, "--jitter-ns", 500)
    first = run(name, *words)
    assert run(name, *words) == first
    assert run(name, *words, "--seed", 2)["checksum"] == checksums[name]


@pytest.mark.parametrize("name", SMALL)
def test_the_bound_is_below_the_time(name):
    for cache in ((), ("--no-cache",)):
        result = run(name, *SMALL[name], *VIRTUAL, *cache)
        assert 0 < result["bound_seconds"] <= result["seconds"]


@pytest.mark.parametrize("where", [(), VIRTUAL, ("--network", "1gbe", "--virtual")])
def test_messages_of_copy(where):
    uncached = run("copy", *where, "--no-cache")
    assert (uncached["get_messages"], uncached["put_messages"]) == (10_000, 10_000)
    assert (uncached["get_message_bytes"], uncached["put_message_bytes"]) == (80_000, 80_000)
    cached = run("copy", *where)
    # 80,000 bytes in messages of up to 4 KiB.
    assert 20 <= cached["get_messages"] <= 40
    assert cached["put_messages"] == 20 and cached["put_message_bytes"] == 80_000
    assert cached["hits"] + cached["pending_hits"] + cached["misses"] == cached["puts"] == 10_000
    assert cached["prefetch_unused"] == 0


def test_messages_of_random_accesses():
    gets = run("rand_gets", *ACCESSES, *VIRTUAL)
    assert gets["hits"] + gets["pending_hits"] + gets["misses"] == 1500
    assert gets["get_messages"] - gets["prefetch_messages"] == gets["misses"]
    plain = run("rand_gets", *ACCESSES, *VIRTUAL, "--no-cache")
    assert (plain["get_messages"], plain["get_message_bytes"]) == (1500, 12_000)
    puts = run("rand_puts", *ACCESSES, *VIRTUAL)
    assert puts["puts"] == 1500
    assert 1400 < puts["put_messages"] <= 1500 and puts["put_message_bytes"] <= 12_000
    assert run("rand_puts", *ACCESSES, *VIRTUAL, "--no-cache")["put_messages"] == 1500


def test_hints_of_prefetch():
    for distance in (0, 1, 7):
        result = run("prefetch", *ACCESSES, *VIRTUAL, "--distance", distance)
        assert result["hints"] == (1500 if distance else 0)
    found = run("prefetch", *ACCESSES, *VIRTUAL)
    # The first access is there before a hint could be.
    assert found["hints"] == 1499
    assert 5 <= found["last_distance"] <= 48
    assert found["misses"] < 20 and found["prefetch_unused"] < 20
    assert run("prefetch", *ACCESSES, *VIRTUAL, "--no-cache")["last_distance"] == 0


def test_messages_of_ptrans():
    rows, columns, block = 70, 45, (3, 5)

    def owner(i: int, j: int) -> tuple[int, int]:
        return i // block[0] % 2, j // block[1] % 2

    remote = sum(owner(i, j) != owner(j, i) for i in range(rows) for j in range(columns))
    uncached = run("ptrans", *SMALL["ptrans"], *VIRTUAL, "--ranks", 4, "--no-cache")
    assert uncached["get_messages"] == remote and uncached["put_messages"] == 0
    cached = run("ptrans", *SMALL["ptrans"], *VIRTUAL, "--ranks", 4)
    assert cached["get_messages"] < remote / 4


@pytest.mark.parametrize("ranks", [1, 3, 4, 9])
@pytest.mark.parametrize("cache", [(), ("--no-cache",)])
def test_versions_of_transpose(ranks, cache, checksums):
    words = (*SMALL["transpose"], *VIRTUAL, *cache, "--ranks", ranks)
    versions = {name: run("transpose", *words, "--version", name) for name in TRANSPOSE_VERSIONS}
    assert {result["checksum"] for result in versions.values()} == {checksums["transpose"]}
    for name in ("base", "hand"):
        assert versions[name]["prefetch_updates"] == 0
    slices = versions["mc"]["prefetch_updates"]
    assert {versions[name]["prefetch_updates"] for name in ("ac", "ac-sd", "mc-sd")} == {slices}
    # Rank 0 has its own part of the transpose when the grid is square. Three ranks own 13, 12 and 12 rows.
    assert slices == (3 * 2 if ranks == 3 else 0)
    if ranks == 3:
        assert versions["mc"]["prefetch_bytes"] == 3 * 2 * 8 * 12 * 13
        assert versions["mc"]["get_messages"] == 0, "the owners pack"
        assert versions["mc-sd"]["get_messages"] == 3 * ((12 + 12) + (13 + 12) + (13 + 12)), "a row each"


def test_ssca2_with_relaxed_atomics_keeps_its_cache():
    words = (*SMALL["ssca2"], *VIRTUAL, "--ranks", 4)
    uncached = run("ssca2", *words, "--no-cache")
    strict = run("ssca2", *words)
    relaxed = run("ssca2", *words, "--atomics", "relaxed")
    assert uncached["checksum"] == strict["checksum"] == relaxed["checksum"]
    assert 2 * relaxed["misses"] < 1.5 * strict["misses"] < 1.5 * uncached["get_messages"]


def test_many_ranks():
    result = run("ptrans", "--own-elements", 100, "--ranks", 64, *VIRTUAL)
    assert result["ranks"] == 64 and result["rows"] == 80


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--network", "carrier-pigeon"), "carrier-pigeon"),
        (("--cache-bytes", 1000), "capacity_bytes = 1000"),
        (("--line-bytes", 48), "line_bytes = 48"),
        (("--policy", "random"), "policy = random"),
        (("--ranks", 0), "--ranks"),
        (("--elements", -1), "--elements"),
        (("--fly",), "--fly"),
        (("--json", "/nowhere/at/all"), "/nowhere/at/all"),
    ],
)
def test_bad_options(words, says):
    done = start("copy", *words)
    assert done.returncode == 2
    assert says in done.stderr and ": " in done.stderr


def test_json_file(tmp_path):
    done = start("copy", "--json", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == report(done)


def test_help():
    for name in SMALL:
        done = start(name, "--help")
        assert done.returncode == 0 and "--no-cache" in done.stdout


@pytest.mark.parametrize("network", [(), ("aries",), ("1gbe",)])
def test_listings_of_the_paper(network):
    listings = PROGRAMS.parent / "examples" / "listings"
    done = finish([str(listings), *network], sanitizer_environment(dict(os.environ), PROGRAMS.parent))
    assert done.returncode == 0, done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        "Listing 5",
        "Listing 6",
        "Listing 7",
        "Listing 7",
    ]
