# SPDX-License-Identifier: Apache-2.0
"""LULESH has the results that LULESH 2.0 and Chapel's version publish, on every transport and number of
ranks, with and without the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pgas_programs import VIRTUAL, run, start

PUBLISHED = {5: (72, "7.853665e+03"), 10: (231, "2.720531e+04")}
"""Cycles and final energy of the origin, by the size of the cube."""
CHAPEL = ("--energy", 3.948746e7, "--first-step", 1e-7)
"""How Chapel's version starts for every mesh."""


def check(result: dict[str, Any], size: int) -> None:
    assert (result["cycles"], result["origin_energy"]) == PUBLISHED[size]
    assert (result["elements"], result["nodes"]) == (size**3, (size + 1) ** 3)
    for measure in ("max_abs_difference", "total_abs_difference", "max_relative_difference"):
        assert 0 <= result[measure] <= 1e-8


@pytest.mark.parametrize("forces", ["atomic", "combine", "gather"])
@pytest.mark.parametrize(("size", "ranks"), [(5, 1), (5, 2), (5, 4), (10, 1), (10, 2)])
def test_published_results(size, ranks, forces):
    check(run("lulesh", "--size", size, "--ranks", ranks, "--forces", forces), size)


@pytest.mark.parametrize("forces", ["atomic", "gather"])
def test_published_results_on_mpi(forces, any_family):
    cached = run("lulesh", "--size", 5, "--forces", forces, family=any_family)
    uncached = run("lulesh", "--size", 5, "--forces", forces, "--no-cache", family=any_family)
    check(cached, 5)
    check(uncached, 5)
    assert cached["ranks"] == 2 and cached["mpi"] == any_family
    if forces == "gather":
        assert cached["checksum"] == uncached["checksum"]
        assert cached["checksum"] == run("lulesh", "--size", 5, "--forces", forces, "--ranks", 1)["checksum"]
    assert 0 < 4 * cached["get_messages"] < uncached["get_messages"]


def test_a_large_cube_on_mpi(any_family):
    check(run("lulesh", "--size", 10, "--forces", "gather", family=any_family), 10)


def test_gathered_forces_have_one_order_of_sums():
    def checksum(ranks: int, *more: object) -> str:
        words = ("--size", 6, "--cycles", 30, "--forces", "gather", "--ranks", ranks)
        return run("lulesh", *words, *more)["checksum"]

    alone = checksum(1)
    for ranks in (2, 3, 4, 8):
        assert checksum(ranks) == checksum(ranks, "--no-cache") == alone
    tiny = ("--cache-bytes", 4096, "--dirty-pages", 1, "--operations", 2)
    assert checksum(4, *VIRTUAL, *tiny, "--jitter-ns", 5000) == alone


@pytest.mark.parametrize("atomics", ["seq_cst", "relaxed"])
def test_additions_are_messages_and_the_cache_saves_the_gets(atomics):
    words = ("--size", 6, "--cycles", 3, "--ranks", 4, *VIRTUAL, "--atomics", atomics)
    cached, uncached = run("lulesh", *words), run("lulesh", *words, "--no-cache")
    assert cached["origin_energy"] == uncached["origin_energy"]
    assert 0 < 8 * cached["get_messages"] < uncached["get_messages"]


def test_combined_forces_are_half_the_atomics():
    words = ("--size", 6, "--cycles", 3, "--ranks", 4, *VIRTUAL)
    atomic, combined = (run("lulesh", *words, "--forces", forces) for forces in ("atomic", "combine"))
    assert combined["origin_energy"] == atomic["origin_energy"]
    # Rank 0 has 54 elements with 24 sums each: masses, then once or twice in three cycles.
    assert (atomic["atomics"], combined["atomics"]) == (54 * 24 * 7, 54 * 24 * 4)


def cube(size: int) -> list[list[float]]:
    """The numbers of a mesh file, line by line."""
    edge = size + 1
    places = [(i, j, k) for k in range(edge) for j in range(edge) for i in range(edge)]
    node = {place: n for n, place in enumerate(places)}
    elements = [place for place in places if max(place) < size]
    element = {place: n for n, place in enumerate(elements)}
    around = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    sides = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]

    def moved(place: tuple[int, ...], by: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(place, by))

    lines: list[list[float]] = [[len(elements), len(places)]]
    lines += [[1.125 * along / size for along in place] for place in places]
    lines += [[node[moved(place, corner)] for corner in around] for place in elements]
    lines += [[element.get(moved(place, side), element[place]) for side in sides] for place in elements]
    sets = [[node[place] for place in places if place[axis] == 0] for axis in range(3)]
    sets.append([node[place] for place in places if max(place) == size])
    for nodes in sets:
        lines += [[len(nodes)], *([n] for n in nodes)]
    return lines


def write(path: Path, lines: list[list[float]]) -> Path:
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_mesh_file(tmp_path):
    path = write(tmp_path / "cube.lmesh", cube(2))
    result = run("lulesh", "--mesh", path, "--ranks", 2)
    # Chapel's lulesh.good for its sedov2cube.lmesh, which is this mesh.
    assert (result["elements"], result["nodes"], result["cycles"]) == (8, 27, 223)
    generated = run("lulesh", "--size", 2, *CHAPEL, "--ranks", 2)
    for name in ("cycles", "origin_energy"):
        assert generated[name] == result[name]


def test_an_unordered_mesh_file(tmp_path):
    """The same cube with its elements the other way round."""
    lines = cube(3)
    count = int(lines[0][0])
    first = 1 + int(lines[0][1])
    nodes, sides = lines[first : first + count], lines[first + count : first + 2 * count]
    turned = [[count - 1 - e for e in line] for line in reversed(sides)]
    path = write(tmp_path / "turned.lmesh", lines[:first] + nodes[::-1] + turned + lines[first + 2 * count :])
    words = ("--cycles", 50, "--ranks", 3)
    result = run("lulesh", "--mesh", path, *words)
    assert result["origin_energy"] == run("lulesh", "--size", 3, *CHAPEL, *words)["origin_energy"]


def changed(lines: list[list[float]], line: int, word: int, value: object) -> str:
    texts = [[str(number) for number in numbers] for numbers in lines]
    texts[line - 1][word] = str(value)
    return "".join(" ".join(text) + "\n" for text in texts)


@pytest.mark.parametrize(
    ("line", "word", "value", "says"),
    [
        (1, 0, 0, "line 1: '0' is not a number of elements from 1"),
        (1, 0, "8.5", "line 1: '8.5' is not a number of elements"),
        (1, 1, 99999999999, "line 1: '99999999999' is not a number of nodes"),
        (3, 1, "north", "line 3: 'north' is not a coordinate"),
        (3, 1, "nan", "line 3: 'nan' is not a coordinate"),
        (29, 7, 27, "line 29: '27' is not a node from 0 to 26"),
        (29, 7, -1, "line 29: '-1' is not a node from 0 to 26"),
        (37, 0, 8, "line 37: '8' is not an element from 0 to 7"),
        (45, 0, 0, "line 45: '0' is not a size of a node set from 1 to 27"),
        (75, 0, 20, "the file ends where a node should be"),
        (75, 0, 18, "stands behind the last node set"),
    ],
)
def test_bad_mesh_files(tmp_path, line, word, value, says):
    path = tmp_path / "bad.lmesh"
    path.write_text(changed(cube(2), line, word, value), encoding="utf-8")
    done = start("lulesh", "--mesh", path)
    assert done.returncode == 2
    assert f"{path}, line " in done.stderr and says in done.stderr


def test_meshes_that_cannot_be_used(tmp_path):
    missing = start("lulesh", "--mesh", tmp_path / "none.lmesh")
    assert missing.returncode == 2 and "none.lmesh cannot be read" in missing.stderr
    # All x coordinates are 0: elements without volume.
    flat = cube(2)
    for line in flat[1:28]:
        line[0] = 0
    done = start("lulesh", "--mesh", write(tmp_path / "flat.lmesh", flat))
    assert done.returncode == 2 and "has the volume 0" in done.stderr
    # No node is held in z, so no element is at the origin.
    open_below = cube(2)
    for offset in range(1, 10):
        open_below[64 + offset][0] = 26
    done = start("lulesh", "--mesh", write(tmp_path / "open.lmesh", open_below))
    assert done.returncode == 2 and "no element has three faces of symmetry" in done.stderr
