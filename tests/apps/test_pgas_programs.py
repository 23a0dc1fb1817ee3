# SPDX-License-Identifier: Apache-2.0
"""The SPMD programs give the same results with and without their cache, on every transport and number of
ranks, and the cache saves the promised messages."""

from __future__ import annotations

import json
import os

import pytest
from conftest import PROGRAMS, environment
from pgas_programs import ACCESSES, SMALL, VIRTUAL, finish, report, run, start


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
    # SSCA2 flushes its cache at each atomic: nothing that is read ahead is used.
    exact = ("--no-read-ahead",) if name == "ssca2" else ()
    cached = run(name, *SMALL[name], *exact, family=any_family)
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
    # The first access comes before any hint.
    assert found["hints"] == 1499
    assert 5 <= found["last_distance"] <= 48
    assert found["misses"] < 20 and found["prefetch_unused"] < 20
    assert run("prefetch", *ACCESSES, *VIRTUAL, "--no-cache")["last_distance"] == 0


@pytest.mark.parametrize("more", [(), ("--distance", 3)])
def test_headers_are_read_at_each_access_or_once(more):
    program = ("prefetch", *ACCESSES) if more else ("copy", "--elements", 3000)
    gets, arrays = (1500, 1) if more else (3000, 2)
    # A hint reads the header, too; there are three before the loop, and none in its last three iterations.
    accesses = 2 * gets if more else gets
    plain = run(*program, *VIRTUAL, *more)
    naive = run(*program, *VIRTUAL, *more, "--header-words", 3, "--no-cache")
    assert naive["get_messages"] == gets + 3 * arrays * accesses
    hoisted = run(*program, *VIRTUAL, *more, "--header-words", 3, "--hoist", "--no-cache")
    assert hoisted["get_messages"] == gets + 3 * arrays
    cached = run(*program, *VIRTUAL, *more, "--header-words", 3)
    assert cached["checksum"] == naive["checksum"] == hoisted["checksum"] == plain["checksum"]
    assert cached["get_messages"] < plain["get_messages"] + 20
    assert cached["seconds"] < 0.6 * naive["seconds"]


@pytest.mark.parametrize("way", ["sync", "on", "tasks"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_hand_over(way, ranks):
    words = ("--by", way, "--blocks", 5, "--elements", 72, "--ranks", ranks)
    for where in ((), VIRTUAL):
        cached = run("hand_over", *words, *where)
        uncached = run("hand_over", *words, *where, "--no-cache")
        assert cached["checksum"] == uncached["checksum"]
        blocks = 5 * (ranks // 2 if way == "sync" else ranks if ranks > 1 else 0)
        assert uncached["get_messages"] == 72 * blocks
        assert cached["get_messages"] <= 16 * blocks


@pytest.mark.parametrize("way", ["sync", "on", "tasks"])
def test_hand_over_on_mpi(way, any_family):
    words = ("hand_over", "--by", way, "--blocks", 5, "--elements", 72)
    cached, uncached = run(*words, family=any_family), run(*words, "--no-cache", family=any_family)
    assert cached["checksum"] == uncached["checksum"]
    assert cached["get_messages"] < uncached["get_messages"] / 4


def remote_in_ptrans(rows: int, columns: int, grid: tuple[int, int]) -> int:
    """Elements of C whose element of A another rank owns; the blocks are 3 x 5 in A and 5 x 3 in C."""
    a = {(i, j): (i // 3 % grid[0], j // 5 % grid[1]) for i in range(rows) for j in range(columns)}
    c = {(i, j): (i // 5 % grid[0], j // 3 % grid[1]) for i in range(columns) for j in range(rows)}
    return sum(c[i, j] != a[j, i] for i, j in c)


@pytest.mark.parametrize(("ranks", "grid"), [(2, (1, 2)), (4, (2, 2)), (6, (2, 3))])
def test_messages_of_ptrans(ranks, grid):
    remote = remote_in_ptrans(70, 45, grid)
    uncached = run("ptrans", *SMALL["ptrans"], *VIRTUAL, "--ranks", ranks, "--no-cache")
    assert uncached["get_messages"] == remote and uncached["put_messages"] == 0
    cached = run("ptrans", *SMALL["ptrans"], *VIRTUAL, "--ranks", ranks, "--no-read-ahead")
    # 15 elements of a block are next to each other, in two or three lines.
    assert cached["get_messages"] < remote / 4


@pytest.mark.parametrize(("ranks", "grid", "share"), [(8, (2, 4), 3 / 4), (32, (4, 8), 7 / 8)])
def test_remote_share_of_ptrans(ranks, grid, share):
    """That of the paper's runs (000, section V-B)."""
    uncached = run("ptrans", *VIRTUAL, "--ranks", ranks, "--no-cache")
    assert uncached["get_messages"] == remote_in_ptrans(500, 500, grid)
    assert uncached["get_messages"] / 500**2 == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize("version", ["original", "remote-reads"])
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_versions_of_ssca2(version, ranks, checksums):
    words = (*SMALL["ssca2"], *VIRTUAL, "--ranks", ranks, "--version", version)
    for more in ((), ("--no-cache",), ("--atomics", "relaxed"), ("--at-once", 2)):
        result = run("ssca2", *words, *more)
        assert result["checksum"] == checksums["ssca2"] and result["version"] == version


def test_ssca2_that_reads_remotely_keeps_its_cache():
    words = (*SMALL["ssca2"], *VIRTUAL, "--ranks", 4, "--version", "remote-reads")
    uncached = run("ssca2", *words, "--no-cache")
    strict = run("ssca2", *words)
    relaxed = run("ssca2", *words, "--atomics", "relaxed")
    assert 2 * relaxed["misses"] < 1.5 * strict["misses"] < 1.5 * uncached["get_messages"]


def test_ssca2_flushes_its_cache_unless_atomics_are_relaxed():
    """As the paper's (000, section V-B): an atomic is between any two gets."""
    words = (*SMALL["ssca2"], *VIRTUAL, "--ranks", 4)
    uncached = run("ssca2", *words, "--no-cache")
    strict = run("ssca2", *words)
    assert strict["hits"] == 0 and strict["misses"] == uncached["get_messages"] > 0
    relaxed = run("ssca2", *words, "--atomics", "relaxed")
    assert relaxed["hits"] > 0
    assert relaxed["hits"] + relaxed["pending_hits"] + relaxed["misses"] == strict["misses"]


def test_many_ranks():
    result = run("ptrans", "--own-elements", 100, "--ranks", 64, *VIRTUAL)
    assert result["ranks"] == 64 and result["rows"] == 80


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--network", "leader-pigeon"), "leader-pigeon"),
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
    done = finish([str(listings), *network], environment(dict(os.environ), PROGRAMS.parent))
    assert done.returncode == 0, done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        "Listing 5",
        "Listing 6",
        "Listing 7",
        "Listing 7",
    ]
