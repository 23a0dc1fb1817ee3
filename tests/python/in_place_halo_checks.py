# SPDX-License-Identifier: Apache-2.0
"""Halos in place: arrays with room for them, against copies and numpy.

python in_place_halo_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import itertools
import os
import tempfile

import numpy as np
from array_checks import refused
from checks import run_checks
from halo_checks import SHAPES, expected_halo

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, rank, ranks, statistics

DTYPES = (int, "f4", "S20", [("x", "f8"), ("n", "i4")], "u1")


def address(array):
    """Of the first element."""
    return array.__array_interface__["data"][0]


def numbered(bounds, halo, dtype=int):
    """An array with room for a halo, and the same in numpy."""
    a = BlockArray(dtype=dtype, bounds=bounds, halo=halo)
    whole = np.arange(1, a.size + 1).reshape(a.shape).astype(dtype)
    own = zip(a.local_box, bounds)
    a.local[...] = whole[tuple(slice(mine.start - first, mine.stop - first) for mine, (first, _) in own)]
    barrier()
    return a, whole


def check_halo(a, whole, depths, ends) -> None:
    """Values and indices are those of a copy; own elements are in place wherever they can be."""
    expected = expected_halo(a, whole, depths, ends)
    around, box = a.with_halo(depths, periodic=ends)
    np.testing.assert_array_equal(around, expected)
    copied, box_of_copy = a.with_halo(depths, periodic=ends, out=np.zeros(expected.shape, a.dtype))
    np.testing.assert_array_equal(copied, expected)
    assert box == box_of_copy and not np.shares_memory(copied, a.local)
    can_be = depths[0] <= a.halo and not any(
        depth and is_periodic for depth, is_periodic in zip(depths[1:], ends[1:])
    )
    assert np.shares_memory(around, a.local) == (can_be and a.local.size > 0)
    if can_be and a.local.size:
        own = around[a.local_box[0].start - box[0].start :][: len(a.local)]
        assert address(own) == address(a.local) and own.strides == a.local.strides


def values() -> None:
    """All depths and ends, in the room and beyond it; parts that are empty, or smaller than the depth."""
    for shape, halo in itertools.product(SHAPES, (1, 2, 7)):
        a, whole = numbered([(0, extent) for extent in shape], halo)
        assert a.halo == halo and a.grid == (ranks(),) + (1,) * (len(shape) - 1)
        for depths in itertools.product((0, 1, 2), repeat=len(shape)):
            for ends in itertools.product((False, True), repeat=len(shape)):
                if len(shape) < 3 or sum(depths) == 3:
                    check_halo(a, whole, depths, ends)
        for depth in (3, 7, 9):
            for end in (False, True):
                check_halo(a, whole, (depth,) + (0,) * (len(shape) - 1), (end,) * len(shape))
    for dtype in DTYPES:
        a, whole = numbered([(-2, 6), (3, 6)], 2, dtype)
        check_halo(a, whole, (2, 1), (False, False))
        check_halo(a, whole, (1, 0), (True, True))
        check_halo(a, whole, (1, 1), (True, True))
    vectors = BlockArray((5, 2), (float, 3), halo=1)
    assert vectors.shape == (5, 2, 3) and vectors.grid == (ranks(), 1, 1)
    assert not vectors.local.size or np.shares_memory(vectors.with_halo(1)[0], vectors.local)


def by_hand() -> None:
    """Eight rows, numbered; what each rank sees of them."""
    a = nearfetch.from_function(lambda i, j: 10 * i + j, (8, 2), dtype=int, halo=1)
    rows = np.arange(8)[a.local_box[0]]
    around, box = a.with_halo(1)
    lower, upper = max(rows[0] - 1, 0), min(rows[-1] + 1, 7)
    assert around.tolist() == [[10 * i, 10 * i + 1] for i in range(lower, upper + 1)]
    assert box == (slice(lower, upper + 1), slice(0, 2))
    around, box = a.with_halo((1, 0), periodic=(True, False))
    assert around[0, 0] == 10 * ((rows[0] - 1) % 8) and around[-1, 1] == 10 * ((rows[-1] + 1) % 8) + 1
    assert box[0] == slice(rows[0] - 1, rows[-1] + 2)
    barrier()
    around[1:-1] += 1000  # own elements: all ranks see it
    around[0] = around[-1] = -1  # of others: nobody does
    barrier()
    assert a[...].tolist() == [[1000 + 10 * i, 1001 + 10 * i] for i in range(8)]
    again, _ = a.with_halo(1, periodic=(True, False))
    assert again is not around and again[0, 0] == around[0, 0] == 1000 + 10 * ((rows[0] - 1) % 8)
    barrier()


def messages() -> None:
    """Only the halo comes: nothing after a pattern, nothing of own elements."""
    a, whole = numbered([(0, 8 * ranks()), (0, 1024)], 2)
    sides = (rank() > 0) + (rank() < ranks() - 1)

    def moved(what, depths, ends=False):
        before = statistics()[what]
        a.with_halo(depths, periodic=ends)
        return statistics()[what] - before

    assert moved("get_message_bytes", 1) == sides * 1024 * whole.itemsize
    barrier()
    assert moved("get_message_bytes", (2, 0), True) == (2 if ranks() > 1 else 0) * 2 * 1024 * whole.itemsize
    for consistent in (False, True):
        with a.prefetch_stencil((2, 0), periodic=(True, False), consistent=consistent):
            a.with_halo((2, 0), periodic=(True, False))
            for names in ("get_messages", "calls"):
                assert moved(names, (2, 0), (True, False)) == 0
                assert moved(names, 1) == 0
            check_halo(a, whole, (2, 0), (True, False))
    barrier()
    u, w = (nearfetch.from_function(lambda i: i + 0.0, 3 * ranks(), halo=1) for _ in range(2))
    expected = np.arange(3.0 * ranks())
    for _ in range(4):
        around, _ = u.with_halo(1, periodic=True)
        w.local[...] = around[:-2] + around[2:]
        barrier()
        u, w = w, u
        expected = np.roll(expected, 1) + np.roll(expected, -1)
    np.testing.assert_array_equal(u[...], expected)
    barrier()


def kept() -> None:
    """Copies and resized arrays have the room; other results have not. Operands may differ in it."""
    a, whole = numbered([(0, 7), (0, 3)], 2, float)
    for same in (a.copy(), a.astype("f4"), np.zeros_like(a), np.full_like(a, 2), np.empty_like(a, int)):
        assert same.halo == 2 and same.grid == a.grid
    check_halo(a.copy(), whole, (2, 0), (True, False))
    plain = BlockArray(a.shape, grid=a.grid)
    plain.assign(a)
    assert plain.halo == (a + 1).halo == BlockArray((3, 3)).halo == BlockArray(3, halo=0).halo == 0
    before = statistics()["get_messages"]
    np.testing.assert_array_equal(((a + plain) / 2).local, a.local)
    a += plain
    a *= 0.5
    assert statistics()["get_messages"] == before
    assert a.sum() == whole.sum()
    for shape in ((9, 3), (4, 50), (1, 1), (12, 7)):
        kept_shape = tuple(map(min, shape, whole.shape))
        resized = np.zeros(shape)
        resized[tuple(map(slice, kept_shape))] = whole[tuple(map(slice, kept_shape))]
        a.resize(shape)
        whole = resized
        assert a.halo == 2
        check_halo(a, whole, (2, 0), (True, False))
        barrier()
    around, _ = a.with_halo(1)
    refused(lambda: a.resize((3, 3)), "still has a view of its part")
    assert a.shape == (12, 7)
    del around
    a.resize((3, 3), grid=(ranks(), 1))
    barrier()


def constructors() -> None:
    """What takes a grid takes room."""
    whole = np.arange(12.0).reshape(6, 2)
    made = [
        nearfetch.from_numpy(whole, halo=1),
        nearfetch.from_numpy(whole if rank() == 0 else None, root=0, halo=1),
        nearfetch.from_function(lambda i, j: 2.0 * i + j, (6, 2), halo=1),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = nearfetch.bcast(os.path.join(folder, "a.npy"))
        nearfetch.save(path, made[0])
        made.append(nearfetch.load(path, halo=1))
        barrier()
    for a in made:
        check_halo(a, whole, (1, 0), (True, True))
    for line in (
        nearfetch.arange(5.0, halo=3),
        nearfetch.linspace(0, 4, 5, halo=3),
        nearfetch.random(5, seed=1, halo=3),
    ):
        check_halo(line, line[...], (3,), (True,))
    barrier()


def errors() -> None:
    """Each says what to use."""
    refused(lambda: CyclicArray(4, halo=1), "what a rank owns is not one block): use a BlockArray")
    refused(lambda: BlockCyclicArray(4, block=2, halo=1), "use a BlockArray, or no room")
    refused(lambda: CyclicArray(4, "S20", halo=1), "use a BlockArray")
    for wrong in (-1, 1.5, (1, 0), "1", None):
        refused(lambda halo=wrong: BlockArray((4, 4), halo=halo), "use 0 or more")
    refused(lambda: BlockArray((4, 4), halo=2**61), "no memory for")
    if ranks() > 1:
        for dtype in (float, "S20"):
            refused(
                lambda kind=dtype: BlockArray((4, 4), kind, grid=(1, ranks()), halo=1),
                f"an array with room for a halo of depth 1, on a grid with {ranks()} ranks in dimension 1",
            )
        a, whole = numbered([(0, 4), (0, 6)], 1)
        refused(
            lambda: a.resize((5, 5), grid=(1, ranks())), "use a grid with all ranks in the first dimension"
        )
        check_halo(a, whole, (1, 0), (False, False))
        refused(lambda: BlockArray((4, 4), halo=1 + rank() // (ranks() - 1)), "DistributedArray")
    a, _ = numbered([(0, 4), (0, 6)], 1)
    refused(lambda: a.with_halo((1, -1)), "use 0 or more")
    refused(lambda: a.with_halo(1, out=np.zeros((1, 1), int)), "with_halo into an array of int64 (1, 1)")


def main() -> None:
    """All checks."""
    for check in (values, by_hand, messages, kept, constructors, errors):
        check()
        barrier()


if __name__ == "__main__":
    run_checks(main)
