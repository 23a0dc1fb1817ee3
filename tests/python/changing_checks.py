# SPDX-License-Identifier: Apache-2.0
"""Arrays that change: resizing, contributions to ghosts, partly prefetched slices, and their end.

python changing_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import numpy as np
from array_checks import arrays, refused, same, values
from checks import run_checks

from nearfetch import BlockArray, CyclicArray, barrier, rank, ranks

FIRST_SEGMENT_BYTES = 4 << 20


def resizes():
    """Old elements stay, new ones are zero, and patterns follow."""
    random = np.random.default_rng(3)
    for array in arrays((5, 7), "i8"):
        model = {index: 10 * index[0] + index[1] for index in np.ndindex(5, 7)}
        first, second = array.local_indices
        array.local[...] = np.add.outer(10 * first, second)
        barrier()
        array.prefetch_stencil(1)
        array.prefetch_custom([[(0, 0), (2, slice(None))]] * ranks(), consistent=False)
        for _ in range(4):
            box = [
                (first, first + int(random.integers(1, 9))) for first in random.integers(-2, 3, 2).tolist()
            ]
            array.resize(bounds=box)
            assert array.bounds == tuple(box) and array.ndim == 2 and array.dtype == np.dtype("i8")
            inside = [(i, j) for i in range(*box[0]) for j in range(*box[1])]
            model = {index: model.get(index, 0) for index in inside}
            assert {index: int(array[index]) for index in inside} == model
            whole = np.array([model[index] for index in inside]).reshape(array.shape)
            same(array[...], whole)
            assert array.sum() == whole.sum() and array.local.shape == tuple(map(len, array.local_indices))
            row = [i for i in inside if i[0] == 2 and 0 <= i[1] < 7 and array.owner(i) != rank()]
            assert all(array.is_prefetched(index) for index in row)
            first, second = array.local_indices
            neighbours = {(i + 1, j) for i in first for j in second} & set(inside)
            assert all(array.is_prefetched(index) for index in neighbours if array.owner(index) != rank())
            refused(lambda array=array, box=box: array[box[0][1], box[1][0]], "use one of these", IndexError)
            barrier()
        array.evict_prefetch()
        array.resize((3, 4), grid=(1, ranks()))
        assert array.grid == (1, ranks()) and array.shape == (3, 4) and array[-1, -1] == model.get((2, 3), 0)
        barrier()
        wrong_resizes(array)
        array.resize((0, 4))
        assert array.size == 0 and array.local.size == 0
        barrier()


def wrong_resizes(array):
    """They leave an array of shape (3, 4) unchanged, in all ranks."""
    views = array.local if rank() == 0 else None
    refused(lambda: array.resize((1, 1)), "rank 0 still has a view of its part")
    del views
    refused(lambda: array.resize(3), "keeps them")
    refused(array.resize, "give one of them")
    refused(lambda: array.resize((2, 2), grid=(ranks() + 1, 1)), "rank")
    refused(lambda: array.resize((2, -2)), "bounds")
    refused(lambda: array.resize((2**25, 2**25)), "no memory for")
    array.prefetch_row_wise(static_domain=True)
    refused(lambda: array.resize((4, 4)), "static_domain")
    array.evict_prefetch()
    assert array.shape == (3, 4)


def an_update_under_way():
    """A resize drops pending transfers."""
    array = BlockArray(3 * ranks(), int)
    array.prefetch_stencil(1, consistent=False)
    transfer = array.update_prefetch_async()
    array.resize(4 * ranks())
    refused(transfer.wait, "resize")
    array.evict_prefetch()
    barrier()


def endings():
    """Memory of deleted arrays is reused, unless there are views of it."""
    count = FIRST_SEGMENT_BYTES * 2 // 5 // 8 * ranks()
    for turn in range(1, 8):
        array = BlockArray(count, "i8")
        other = (array.local_box[0].stop + turn) % count
        assert array[other] == 0 and not array.local.any()
        barrier()
        array[other] = turn
        if turn == 4:
            view = array.local
            view[...] = rank()
        elif turn == 6:
            assert view[0] == rank() and view[-1] == rank()
            del view
        del array


def partial_slices():
    """The prefetched part of a slice is read locally, and the other part is fetched."""
    array = BlockArray((3 * ranks(), 8), "i4", grid=(ranks(), 1))
    array.local[...] = 1
    barrier()
    array.prefetch_custom([[np.s_[:, :3]]] * ranks(), consistent=False)
    barrier()
    array.local[...] = 2
    barrier()
    mine = array.local_indices[0]
    expected = np.full((3 * ranks(), 8), 2, "i4")
    expected[[i for i in range(3 * ranks()) if i not in mine], :3] = 1
    same(array[...], expected)
    same(array[::2, 1:5], expected[::2, 1:5])
    assert all(array[i, 2] == expected[i, 2] for i in range(3 * ranks()))
    array.update_prefetch()
    same(array[...], np.full_like(expected, 2))
    barrier()


def contributions():
    """Contributions to neighbours arrive at their owners; repeated indices count repeatedly."""
    for dtype in ("?", "i1", "u2", "i4", "u8", "f4", "f8", "g", "c8", "c16"):
        for make in (BlockArray, CyclicArray):
            array = make((6, 5), dtype)
            model = np.zeros((6, 5), dtype)
            random = np.random.default_rng(5)
            array.prefetch_stencil(1)
            for _ in range(2):
                for own in np.ndindex(6, 5):
                    around = tuple(slice(max(0, i - 1), i + 2) for i in own)
                    added = values(model[around].shape, dtype, random.integers(99))
                    twice = tuple(np.array([i, i - 1 if i else 1, i]) for i in own)
                    model[around] += added
                    np.add.at(model, twice, added[0, 0])
                    if array.owner(own) == rank():
                        array.contribute(around, added)
                        array.contribute(twice, added[0, 0])
                array.accumulate_ghosts()
                same(array[...], model)
                barrier()
            array.evict_prefetch()
    wrong_contributions()


def wrong_contributions():
    """They change nothing."""
    array = BlockArray(4 * ranks(), int)
    array.prefetch_stencil(1)
    if ranks() > 2:
        refused(lambda: array.contribute(slice(None), 1), "is neither own nor prefetched")
        assert not array.local.any()
    refused(lambda: array.contribute(4 * ranks(), 1), "use one of these", IndexError)
    refused(lambda: array.contribute([0.5], 1), "whole numbers", IndexError)
    if rank() + 1 < ranks():
        array.contribute(4 * rank() + 4, 5)
    if ranks() > 1:
        refused(lambda: array.resize(5), "rank 0 has contributions to elements of others")
    array.accumulate_ghosts()
    assert array[...].tolist() == [5 if i and i % 4 == 0 else 0 for i in range(array.size)]
    barrier()
    for dtype in ("M8[s]", "f2", ">i4"):
        other = BlockArray(4, dtype)
        refused(lambda other=other: other.contribute(0, np.zeros((), other.dtype)), "numbers are combined")
        refused(other.accumulate_ghosts, "numbers are combined")


def main():
    """All of it, in one program."""
    resizes()
    an_update_under_way()
    partial_slices()
    contributions()
    endings()
    return rank()


if __name__ == "__main__":
    run_checks(main)
