# SPDX-License-Identifier: Apache-2.0
"""LAPPS's programs: each version gives the same result, and moves what it promises."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pgas_programs import LAPPS, SMALL, VERSIONS, VIRTUAL, run, start


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
    # Two neighbours each, with 7 rows or columns of 10 elements: as prefetched.
    star = ("star", *SMALL["star"], *VIRTUAL, "--ranks", 4, "--no-cache", "--version")
    for counter in ("get_messages", "get_message_bytes"):
        assert run(*star, "hand")[counter] == run(*star, "mc-sd")[counter]


def test_a_sample_of_the_rows_of_a_star():
    words = ("star", *SMALL["star"], *VIRTUAL, "--ranks", 3, "--every", 5, "--version")
    base, prefetched, by_hand = (run(*words, version) for version in ("base", "mc", "hand"))
    assert base["checksum"] == prefetched["checksum"] == by_hand["checksum"]
    # Rank 0 has 7 of 20 rows and computes row 2, where 3 places of each column are remote, up to row 9. With
    # radius 7 the rows of its stars have 15 places, but 8 to 14 at either edge.
    assert base["remote_ratio"] == pytest.approx(3 * 20 / (10 * 20 + 20 * 15 - 2 * sum(range(1, 8))))
    # All of its halo is prefetched.
    assert prefetched["prefetch_bytes"] == 2 * 7 * 20 * 8


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
