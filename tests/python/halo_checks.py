# SPDX-License-Identifier: Apache-2.0
"""Halos and nested patterns against numpy: periodic, and of another depth in each dimension.

python halo_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import itertools

import numpy as np
from array_checks import refused
from checks import run_checks

import nearfetch
from nearfetch import BlockArray, CyclicArray, SparseMatrix, barrier, ranks, statistics

SHAPES = ((12,), (1,), (7, 5), (1, 9), (3, 4, 6), (0, 4))


def filled(bounds):
    """An array, and the same in numpy."""
    a = BlockArray(dtype=int, bounds=bounds)
    whole = np.arange(a.size).reshape(a.shape)
    own = zip(a.local_box, bounds)
    a.local[...] = whole[tuple(slice(mine.start - first, mine.stop - first) for mine, (first, _) in own)]
    barrier()
    return a, whole


def expected_halo(a, whole, depths, ends):
    """By indices of all dimensions, wrapped or clipped."""
    indices = []
    for own, (first, end), depth, is_periodic in zip(a.local_box, a.bounds, depths, ends):
        if own.stop <= own.start:
            indices.append(np.arange(0))
            continue
        reach = np.arange(own.start - depth, own.stop + depth)
        inside = (reach - first) % (end - first)
        indices.append(inside if is_periodic else reach[(reach >= first) & (reach < end)] - first)
    return whole[np.ix_(*indices)]


def check_halo(a, whole, depths, ends) -> None:
    """With and without a pattern; with one no message is sent."""
    expected = expected_halo(a, whole, depths, ends)
    around, box = a.with_halo(depths, periodic=ends)
    np.testing.assert_array_equal(around, expected)
    assert tuple(one.stop - one.start for one in box) == expected.shape
    if not any(depths):
        return
    with a.prefetch_stencil(depths, periodic=ends, consistent=False):
        before = statistics()["get_messages"]
        out = np.full(expected.shape, -1)
        seen, _ = a.with_halo(depths, periodic=ends, out=out)
        assert seen is out and statistics()["get_messages"] == before
    np.testing.assert_array_equal(out, expected)
    with a.prefetch_stencil_async(depths, periodic=ends, consistent=False):
        pass
    before = statistics()["get_messages"]
    np.testing.assert_array_equal(a.with_halo(depths, periodic=ends)[0], expected)
    assert statistics()["get_messages"] == before
    a.evict_prefetch()


def halos() -> None:
    """All depths from 0 to 2 and all ends; one value for all dimensions, too."""
    for shape in SHAPES:
        a, whole = filled([(0, extent) for extent in shape])
        for depths in itertools.product((0, 1, 2), repeat=len(shape)):
            for ends in itertools.product((False, True), repeat=len(shape)):
                if len(shape) < 3 or sum(depths) == 3:
                    check_halo(a, whole, depths, ends)
        np.testing.assert_array_equal(
            a.with_halo(1, periodic=True)[0], expected_halo(a, whole, [1] * a.ndim, [True] * a.ndim)
        )
    a, whole = filled([(-2, 4), (3, 8)])
    check_halo(a, whole, (2, 1), (True, False))
    check_halo(a, whole, (9, 11), (True, True))


def nested() -> None:
    """The end of a phase evicts what no other phase needs."""
    for make in (BlockArray, CyclicArray):
        a = make((12, 12))
        begin = statistics()["prefetch_entries"]
        with a.prefetch_stencil(1):
            outer = statistics()["prefetch_entries"]
            with a.prefetch_row_wise(), a.prefetch_custom([[np.s_[:, 0]]] * ranks()):
                with a.prefetch_stencil(1):
                    with a.prefetch_all_to_all(consistent=False):
                        assert statistics()["prefetch_entries"] >= outer
                    assert a.is_prefetched((0, 0)) or ranks() == 1 or a.owner((0, 0)) == nearfetch.rank()
                assert statistics()["prefetch_entries"] >= outer
            assert statistics()["prefetch_entries"] == outer
            a.update_prefetch()
            a.resize((10, 14))
            assert statistics()["prefetch_entries"] == outer
        assert statistics()["prefetch_entries"] == begin
        refused(a.update_prefetch, "nothing is prefetched")
    sparse_phases()


def sparse_phases() -> None:
    """The same for sparse matrices."""
    own = SparseMatrix.rows_of(8)
    s = SparseMatrix((8, 8), (np.ones(len(own)), list(own), range(len(own) + 1)))
    begin = statistics()["prefetch_entries"]
    with s.prefetch_rows([[slice(0, 2)]] * ranks()):
        outer = statistics()["prefetch_entries"]
        with s.prefetch_all_to_all():
            assert s[7, 7] == 1
        assert statistics()["prefetch_entries"] == outer
        assert s[0, 0] == 1
    assert statistics()["prefetch_entries"] == begin


def errors() -> None:
    """Each says what to use."""
    a, _ = filled([(0, 4), (0, 6)])
    refused(lambda: a.with_halo((1, 2, 3)), "3 values of depth (the array has 2 dimensions)")
    refused(lambda: a.with_halo(1, periodic=(True,) * 3), "3 values of periodic")
    refused(lambda: a.with_halo((1, -1)), "use 0 or more")
    refused(lambda: a.with_halo(1.5), "use 0 or more")
    refused(lambda: a.with_halo(1, out=np.zeros((1, 1), int)), "with_halo into an array of int64 (1, 1)")
    refused(lambda: a.with_halo(1, out=np.zeros((4, 6))), "use one of that dtype and shape")
    refused(lambda: a.prefetch_stencil((1, 2, 3)), "3 values of depth")
    refused(lambda: a.prefetch_stencil(1, periodic=[True] * 3), "3 values of periodic")
    refused(lambda: a.prefetch_stencil((0, 0)), "use 1 or more")
    refused(lambda: a.prefetch_stencil((-1, 1)), "use 0 or more")


def main() -> None:
    """All checks."""
    for check in (halos, nested, errors):
        check()
        barrier()


if __name__ == "__main__":
    run_checks(main)
