# SPDX-License-Identifier: Apache-2.0
"""The SPMD programs give the same results with and without their cache, on every transport and number of
ranks, and the cache saves the promised messages."""

from __future__ import annotations

import json
import math
import os
import subprocess
from typing import Any, Optional

import pytest
from conftest import PROGRAMS, TIMEOUT_SECONDS, environment

from nearfetch.mpiexec import mpiexec

ACCESSES = ("--accesses", 1500, "--elements", 200_000)
SMALL: dict[str, tuple[object, ...]] = {
    "copy": ("--elements", 3000),
    "rand_gets": ACCESSES,
    "rand_puts": ACCESSES,
    "prefetch": ACCESSES,
    "ptrans": ("--rows", 70, "--columns", 45),
    "ssca2": ("--scale", 6, "--sources", 5),
    "transpose": ("--order", 37, "--iterations", 3),
    "heat": ("--cells", 10, "--tolerance", 0.09),
    "sobel": ("--rows", 20, "--columns", 30),
    "dgemm": ("--order", 24, "--block", 5),
    "sparse": ("--log-size", 4, "--radius", 2, "--iterations", 3),
    "replicate": ("--order", 30, "--iterations", 3),
    "star": ("--order", 20, "--radius", 7),
    "minimd": ("--size", 3, "--steps", 3),
    "lulesh": ("--size", 4, "--cycles", 5, "--forces", "gather"),
}
"""The programs, with arguments for a short run."""
LAPPS = ("transpose", "heat", "sobel", "dgemm", "sparse", "replicate", "star")
"""Programs with several versions."""
VERSIONS = ("base", "ac", "ac-sd", "mc", "mc-sd", "hand")
VIRTUAL = ("--network", "fdr-ib", "--virtual")


def finish(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def start(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program whose ranks are threads."""
    env = environment(dict(os.environ), PROGRAMS.parent)
    return finish([str(PROGRAMS / "inproc" / name), *map(str, arguments)], env)


def start_mpi(name: str, family: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program on two ranks of an MPI family."""
    launch = mpiexec(family, 2, "shm", dict(os.environ))
    env = environment(launch.env, PROGRAMS.parent, 2)
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
    """The expected result of each program: its own on one rank, where nothing is remote."""
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
    if any_family == "openmpi" and way != "sync":
        pytest.skip("one thread communicates there")
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


def versions_of(name: str, *words: object) -> dict[str, dict[str, Any]]:
    return {version: run(name, *SMALL[name], *VIRTUAL, *words, "--version", version) for version in VERSIONS}


@pytest.mark.parametrize("name", LAPPS)
@pytest.mark.parametrize("ranks", [1, 3, 4, 9])
@pytest.mark.parametrize("cache", [(), ("--no-cache",)])
def test_versions(name, ranks, cache, checksums):
    versions = versions_of(name, *cache, "--ranks", ranks)
    assert {result["checksum"] for result in versions.values()} == {checksums[name]}
    assert {result["bound_seconds"] for result in versions.values()} == {versions["base"]["bound_seconds"]}
    for version, result in versions.items():
        assert result["bound_seconds"] <= result["seconds"] and result["version"] == version
        if version in ("base", "hand"):
            assert result["prefetch_updates"] == 0
    for version in ("ac", "mc"):
        for counter in ("prefetch_updates", "prefetch_bytes"):
            assert versions[version][counter] == versions[f"{version}-sd"][counter]


@pytest.mark.parametrize("name", LAPPS)
def test_versions_on_mpi(name, any_family, checksums):
    for version in ("mc-sd", "hand"):
        result = run(name, *SMALL[name], "--version", version, family=any_family)
        assert result["checksum"] == checksums[name]


@pytest.mark.parametrize("ranks", [3, 4])
def test_messages_of_transpose(ranks):
    # 37 rows are dealt out: the first rank has 13 of three, 10 of four.
    versions = versions_of("transpose", "--ranks", ranks)
    for version in ("ac", "ac-sd", "mc", "mc-sd"):
        assert versions[version]["prefetch_updates"] == 3 * (ranks - 1), "from all others, each time"
    own = {3: 13, 4: 10}[ranks]
    assert versions["mc"]["prefetch_bytes"] == 3 * 8 * own * (37 - own)
    for version in ("mc", "mc-sd"):
        messages = versions[version]["get_messages"]
        assert messages == 3 * ranks * (ranks - 1), "with the little that is between two rows"
    uncached = run("transpose", *SMALL["transpose"], *VIRTUAL, "--ranks", ranks, "--no-cache")
    parts = [len(range(rank, 37, ranks)) for rank in range(ranks)]
    assert uncached["get_messages"] == 3 * sum(part * (37 - part) for part in parts)
    large = ("--order", 210, *VIRTUAL, "--ranks", 3, "--version")
    for version in ("mc", "mc-sd"):
        assert run("transpose", *large, version)["get_messages"] == 0, "the owners pack, for 70 GETs each"


@pytest.mark.parametrize("block", [1, 5, 37, 100])
@pytest.mark.parametrize("version", ["base", "mc", "hand"])
def test_tiles_of_transpose(block, version, checksums):
    words = (*SMALL["transpose"], "--block", block, "--version", version)
    assert run("transpose", *words, *VIRTUAL, "--ranks", 3)["checksum"] == checksums["transpose"]


def test_prefetches_of_heat():
    versions = versions_of("heat", "--ranks", 8)
    assert {result["steps"] for result in versions.values()} == {3}
    # Rank 0 has three neighbours, with a face of 6 x 6 cells each, in either array.
    face = 6 * 6 * 8
    assert (versions["ac"]["prefetch_updates"], versions["ac"]["prefetch_bytes"]) == (3 * 3, 3 * 3 * face)
    # Each array is fetched before a step that reads it, and only then.
    assert (versions["mc"]["prefetch_updates"], versions["mc"]["prefetch_bytes"]) == (3 * 3, 3 * 3 * face)


@pytest.mark.parametrize("version", VERSIONS)
def test_heat_converges(version):
    def steps(*words: object) -> tuple[int, float]:
        result = run("heat", "--cells", 10, *words, "--ranks", 4, "--version", version)
        return result["steps"], result["change"]

    # A step scales all cells by 1 - 0.2 (3 - cos(t) - cos(2 t) - cos(3 t)), t = pi / 11.
    factor = 1 - 0.2 * sum(1 - math.cos(n * math.pi / 11) for n in (1, 2, 3))
    _, first = steps("--steps", 1)
    enough = next(n for n in range(1, 1000) if first * factor ** (n - 1) <= 1e-4)
    assert steps("--tolerance", 1e-4) == (enough, pytest.approx(first * factor ** (enough - 1)))
    assert steps("--tolerance", 1e-4, "--steps", 7) == (7, pytest.approx(first * factor**6))
    assert steps("--tolerance", 0, "--steps", 7)[0] == 7
    assert steps("--tolerance", 1)[0] == 1


def test_halo_by_hand_is_all_that_moves():
    # Three neighbours each: of 10 x 15 pixels beside, below and across; of 6 x 6 x 6 cells along each edge.
    sobel = run("sobel", *SMALL["sobel"], *VIRTUAL, "--ranks", 4, "--version", "hand", "--no-cache")
    assert (sobel["get_messages"], sobel["get_message_bytes"]) == (4 * 3, 4 * (10 + 15 + 1))
    heat = run("heat", *SMALL["heat"], *VIRTUAL, "--ranks", 8, "--version", "hand", "--no-cache")
    alone = run("heat", *SMALL["heat"], *VIRTUAL, "--ranks", 8, "--version", "mc-sd")
    # With what finds the largest change, as in all versions.
    assert heat["get_messages"] == alone["get_messages"]
    assert 0 <= heat["get_message_bytes"] - 3 * 8 * 3 * 6 * 6 * 8 < 3 * 8 * 128


@pytest.mark.parametrize("version", ["ac", "mc", "mc-sd"])
def test_prefetches_of_sobel_and_dgemm(version):
    sobel = run("sobel", *SMALL["sobel"], *VIRTUAL, "--ranks", 4, "--version", version)
    # 10 x 15 pixels each; rank 0 has neighbours on two sides and at a corner.
    assert (sobel["prefetch_updates"], sobel["prefetch_bytes"]) == (3, 10 + 15 + 1)
    dgemm = run("dgemm", *SMALL["dgemm"], *VIRTUAL, "--ranks", 9, "--version", version)
    # 8 x 8 elements each; two more blocks in the same row, and two in the same column.
    assert (dgemm["prefetch_updates"], dgemm["prefetch_bytes"]) == (4, 4 * 8 * 8 * 8)


def elements_of_sparse(log_size: int, radius: int, ranks: int) -> dict[tuple[int, int], list[int]]:
    """What each rank needs of every other part of the vector, with gaps of one or two elements."""
    size = 1 << log_size
    part = size * size // ranks
    needed: dict[tuple[int, int], set[int]] = {}
    distances = [d for r in range(1, radius + 1) for d in (r, -r)]
    star = [(0, 0), *((d, 0) for d in distances), *((0, d) for d in distances)]
    for row in range(size * size):
        for di, dj in star:
            place = (row % size + di) % size + (row // size + dj) % size * size
            column = int(f"{place:0{2 * log_size}b}"[::-1], 2)
            if column // part != row // part:
                needed.setdefault((row // part, column // part), set()).add(column % part)
    for elements in needed.values():
        ordered = sorted(elements)
        for before, after in zip(ordered, ordered[1:]):
            if after - before <= 3:
                elements.update(range(before, after))
    return {pair: sorted(elements) for pair, elements in needed.items()}


@pytest.mark.parametrize(("log_size", "ranks"), [(4, 2), (4, 4), (4, 8), (7, 8)])
def test_sparse_learns_what_it_needs(log_size, ranks):
    radius, times = 2, 3
    words = ("--log-size", log_size, "--radius", radius, "--iterations", times, "--ranks", ranks)

    def counts(version: str) -> dict[str, Any]:
        return run("sparse", *words, *VIRTUAL, "--version", version)

    needed = elements_of_sparse(log_size, radius, ranks)
    by_rank_0 = [8 * len(elements) for (rank, _), elements in needed.items() if rank == 0]
    spans = sum(8 * (elements[-1] - elements[0] + 1) for elements in needed.values())
    # With more than an eighth observed in sets, whole parts are tried once, which takes twice as long.
    part = 8 * 4**log_size // ranks
    tried = 1 if 4**log_size < sum(by_rank_0) < len(by_rank_0) * part else 0
    versions = ("hand", "base", "observed", "observed-sd", "gather")
    by_hand, base, packed, passive, gathered = map(counts, versions)
    assert by_hand["get_messages"] == times * ranks * (ranks - 1)
    assert by_hand["get_message_bytes"] == times * (ranks - 1) * 8 * 4**log_size
    for observed in (packed, passive):
        assert observed["checksum"] == by_hand["checksum"] == base["checksum"]
        # After the observation: one message from each owner, without unneeded elements.
        assert observed["prefetch_updates"] == times * len(by_rank_0)
        assert observed["prefetch_bytes"] == (times - tried) * sum(by_rank_0) + tried * len(by_rank_0) * part
        assert len(needed) * times <= by_hand["get_messages"]
    assert passive["get_messages"] == times * len(needed)
    assert passive["get_message_bytes"] == (times - tried) * spans + tried * len(needed) * part
    assert passive["get_message_bytes"] <= by_hand["get_message_bytes"]
    assert gathered["checksum"] == by_hand["checksum"] and gathered["prefetch_updates"] == 0
    assert gathered["get_messages"] == passive["get_messages"], "the same, found in the matrix"
    assert gathered["get_message_bytes"] == times * spans
    # Parts of up to 1 KiB are fetched as a whole; of 16 KiB owners pack what is needed, except in the sample.
    assert packed["get_messages"] == (tried * len(needed) if log_size == 7 else passive["get_messages"])
    assert packed["get_messages"] < base["get_messages"]


def test_sparse_has_the_paper_s_rows():
    # 25 non-zeros in a row; on two ranks, the other one's vector is read from each row once or more.
    words = ("--log-size", 4, "--iterations", 1, *VIRTUAL, "--no-cache", "--ranks", 2)
    messages = run("sparse", *words)["get_messages"]
    assert messages % 2 == 0 and messages <= 25 * 256
    assert run("sparse", *words, "--radius", 6)["get_messages"] == messages
    assert run("sparse", *words, "--radius", 5)["get_messages"] < messages


def test_sparse_whose_stencil_meets_itself():
    done = start("sparse", "--log-size", 2, "--radius", 2)
    assert done.returncode == 2
    assert (
        "--radius 2: the stencil meets itself (the grid has 4 points in each direction): use" in done.stderr
    )


def test_work_takes_virtual_time():
    words = ("sobel", *SMALL["sobel"], *VIRTUAL, "--ranks", 4)
    idle, busy = run(*words), run(*words, "--work-ns", 1000)
    assert busy["checksum"] == idle["checksum"]
    assert busy["seconds"] - idle["seconds"] == pytest.approx(10 * 15 * 1000e-9)


def test_sobel_of_a_file(tmp_path):
    picture, edges = tmp_path / "picture.pgm", tmp_path / "edges.pgm"
    # 3 grey levels; white to the right of the fourth column.
    picture.write_bytes(b"P5 # a picture\n6\n# of\n3 2\n" + 3 * b"\0\0\0\0\2\2")
    for version in ("base", "mc", "hand"):
        run("sobel", "--input", picture, "--output", edges, "--ranks", 4, "--version", version)
        assert edges.read_bytes() == b"P5\n6 3\n255\n" + 6 * b"\0" + b"\0\0\0\xff\xff\0" + 6 * b"\0"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        (b"", "P5"),
        (b"P2\n2 2\n255\n0 0 0 0\n", "P5"),
        (b"P5\n", "columns"),
        (b"P5\n2 -2\n255\n....", "rows"),
        (b"P5\n2 0\n255\n....", "rows"),
        (b"P5\n2000000000 2000000000\n255\n....", "rows"),
        (b"P5\n99999999999999999999999 1\n255\n....", "columns"),
        (b"P5\n2 2\n65535\n........", "whitest shade"),
        (b"P5\n2 2\n255\n...", "ends too early"),
        (b"P5\n40000 40000\n255\n...", "ends too early"),
        (b"P5 # no end", "columns"),
    ],
)
def test_bad_pictures(tmp_path, content, says):
    path = tmp_path / "picture.pgm"
    if content is not None:
        path.write_bytes(content)
    done = start("sobel", "--input", path)
    assert done.returncode == 2
    assert str(path) in done.stderr and says in done.stderr


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


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("heat", ("--tolerance", -1), "'-1' is not a number from 0 to 1"),
        ("heat", ("--tolerance", "nan"), "'nan' is not a number from 0 to 1"),
        ("heat", ("--steps", 0), "--steps"),
        ("heat", ("--version", "fast"), "--version"),
        ("transpose", ("--block", 0), "--block"),
        ("transpose", ("--order", "many"), "--order"),
        ("sparse", ("--radius", -1), "--radius"),
    ],
)
def test_bad_options_of_lapps_programs(name, words, says):
    done = start(name, *words)
    assert done.returncode == 2
    assert says in done.stderr and words[0] in done.stderr


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
