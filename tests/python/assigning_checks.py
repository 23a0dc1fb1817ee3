# SPDX-License-Identifier: Apache-2.0
"""`a[indices] = b` and `a[mask] = b` with a distributed `b`, against numpy: values, messages, bytes, errors.

python assigning_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from access_checks import advanced_key
from array_checks import arrays, raised, same, values
from checks import run_whole_or_some
from moving_checks import filled, used

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, rank, ranks

SHAPES = ((1,), (101,), (13, 7), (5, 2, 6), (2, 3, 2, 3), (0,), (3, 0))


def by_arrays(shape: tuple[int, ...], dtype: Any, turns: int) -> None:
    """Random keys with arrays and masks, of all distributions; broadcast and converted; indices repeat."""
    random = np.random.default_rng(sum(shape))
    done = 0
    for turn, (target, source) in itertools.product(range(turns), itertools.product(range(3), range(3))):
        model = values(shape, dtype, turn)
        key = advanced_key(random, shape)
        try:
            extents = model[key].shape
        except IndexError:
            continue
        if not extents:
            continue
        if turn % 3 == 1:  # broadcast
            extents = tuple(1 if random.integers(2) else extent for extent in extents)
        if turn % 3 == 2:
            extents = extents[1:] if len(extents) > 1 else (1, *extents)[:4]
        if len(extents) > 4:
            continue
        array = filled(list(arrays(shape, dtype))[target], model)
        given = values(extents, "f4" if turn == 0 and dtype == "i4" else dtype, 10 + turn)
        array[key] = filled(list(arrays(extents, given.dtype))[source], given)
        model[key] = given.reshape(given.shape[-model[key].ndim :])
        same(array[...], model)
        done += 1
        barrier()
    assert done > turns


def by_masks(shape: tuple[int, ...], dtype: Any) -> None:
    """Distributed masks of any distribution, with as many values as they choose, or one; numpy's, too."""
    for (target, source), share in itertools.product(itertools.product(range(3), range(3)), (0.0, 0.3, 1.0)):
        chosen = np.random.default_rng(7).random(shape) < share
        count = np.count_nonzero(chosen)
        mask = filled(list(arrays(shape, bool))[(target + source) % 3], chosen)
        for given in (values((count,), dtype, 1), values((1,), dtype, 2), values((1, count), dtype, 3)):
            for distributed in (True, False):
                model = values(shape, dtype)
                array = filled(list(arrays(shape, dtype))[target], model)
                value = (
                    filled(list(arrays(given.shape, given.dtype))[source], given) if distributed else given
                )
                array[mask] = value
                model[chosen] = given.reshape(-1)
                same(array[...], model)
                barrier()


def bounds() -> None:
    """Positions count, whatever the bounds."""
    model = np.arange(24).reshape(6, 4)
    for kind in (BlockArray, CyclicArray):
        array = filled(kind(bounds=[(-3, 3), (5, 9)], dtype=int), model)
        given = filled(kind(bounds=[(7, 9), (-1, 3)], dtype=int), -model[:2])
        array[[2, -3]] = given
        new = model.copy()
        new[[5, 0]] = -model[:2]
        same(array[...], new)
        barrier()
        array[array < -2] = filled(kind(bounds=[(4, 9)], dtype=int), np.arange(5))
        new[new < -2] = np.arange(5)
        same(array[...], new)
        barrier()


def of_itself() -> None:
    """Values are read before any is written."""
    order = np.random.default_rng(4).permutation(40)
    for array in arrays((40,), int):
        filled(array, np.arange(40) * 3)
        array[order] = array
        model = np.arange(40) * 3
        model[order] = model.copy()
        same(array[...], model)
        barrier()
        array[array >= 0] = array
        same(array[...], model)
        barrier()
    for flags in arrays((6, 7), bool):
        flags.fill(True)
        flags[flags] = np.logical_not(flags).ravel()
        assert not flags.any()
        flags[np.ones((6, 7), bool)] = flags.ravel()
        assert not flags.any()


def last_value_counts() -> None:
    """Of an index that arrays name twice, as in numpy."""
    for array, given in itertools.product(arrays((30,), int), arrays((300,), int)):
        indices = np.random.default_rng(5).integers(-30, 30, 300)
        filled(given, np.arange(300))
        array[indices] = given
        model = np.zeros(30, int)
        model[indices] = np.arange(300)
        same(array[...], model)
        barrier()


def few_messages() -> None:
    """Each rank reads what it is to write: a request and an answer for each owner, and its own share."""
    rows, columns = 60 * ranks(), 40
    model, others = values((rows, columns), "f8"), ranks() - 1
    random = np.random.default_rng(3)
    order, mask = random.permutation(rows), random.random(model.shape) < 0.1
    picked = np.flatnonzero(mask.reshape(-1))
    vector = filled(CyclicArray(picked.size), values((picked.size,), "f8", 1))
    row = filled(BlockArray(columns), values((columns,), "f8", 2))
    for kind in (BlockArray, CyclicArray):
        array = filled(kind(model.shape, grid=(ranks(), 1)), model)
        flags = filled(kind(model.shape, bool, grid=(ranks(), 1)), mask)
        other = filled(BlockCyclicArray(model.shape, block=(4, 5)), model)
        share, blocks = model.nbytes // ranks(), kind is BlockArray
        own = 8 * picked.size // ranks()
        # A request has 8 bytes for each dimension and element.
        for name, call, most_bytes, most_messages in (
            ("rows", lambda: array.__setitem__(order, other), 3.3 * share, 2),  # noqa: B023
            ("a numpy mask", lambda: array.__setitem__(mask, vector), 3 * own, 2),  # noqa: B023
            ("a row", lambda: array.__setitem__([3, 1, -2], row), 16 * columns, 2),  # noqa: B023
            (
                "a distributed mask",
                lambda: array.__setitem__(flags, vector),  # noqa: B023
                # Numbers of chosen elements before one's own, as in a[mask].
                (3 if blocks else 9) * own + 40 * rows + (0 if blocks else share // 4),
                6 if blocks else 14,
            ),
        ):
            _, sent, size = used(call)
            nearfetch.release()
            assert size <= (most_bytes + 1024 if others else 0), (kind, name, size, most_bytes)
            assert sent <= most_messages * others + (2 if others else 0), (kind, name, sent)
            barrier()


def wrong_uses() -> None:
    """They are errors in all ranks, and change nothing."""
    for kind in (BlockArray, CyclicArray):
        array, vector = kind((4, 5)), kind(4)
        array.fill(1)
        words = filled(kind(5, "S3"), np.array([b"1", b"2", b"3", b"4", b"x"]))
        pairs, mask = kind(5, [("x", "f8"), ("n", "i4")]), array > 0
        for call, said, error in (
            (lambda: array.__setitem__([0, 4], vector), "index 4 of dimension 0", IndexError),  # noqa: B023
            (lambda: array.__setitem__(vector > 1, vector), "use a mask of these", IndexError),  # noqa: B023
            (lambda: array.__setitem__(vector, vector), "use a mask of these", IndexError),  # noqa: B023
            (lambda: array.__setitem__([0, 1], words), "rank", nearfetch.Error),  # noqa: B023
            (lambda: array.__setitem__(0, words), "nothing was written", nearfetch.Error),  # noqa: B023
            (lambda: array.__setitem__(mask, array[...].astype("S3")), "shape", ValueError),  # noqa: B023
            (lambda: array.__setitem__(mask, vector), "shape (4,) into the shape (20,)", ValueError),  # noqa: B023
            (lambda: array.__setitem__(mask, [1, 2]), "shape (2,) into the shape (20,)", ValueError),  # noqa: B023
            (lambda: array.__setitem__([0, 1], vector), "shape (4,) into the shape (2, 5)", ValueError),  # noqa: B023
            (lambda: array.__setitem__([0, 1], pairs), "numpy does not convert", TypeError),  # noqa: B023
            (lambda: array.__setitem__(..., pairs), "numpy does not convert", TypeError),  # noqa: B023
        ):
            raised(call, said, error)
        barrier()
        assert (array[...] == 1).all()
        barrier()
        if rank() == 0:
            words[4] = b"5"
        barrier()
        array[[1, 3]] = words
        assert array[3].tolist() == [1, 2, 3, 4, 5]
        barrier()


def main(whole: bool) -> int:
    """All of it, in one program; on MPI, where it takes long, fewer shapes."""
    few_messages()  # first: later the page cache has seen streams, and reads ahead
    for shape, dtype in zip(
        SHAPES if whole else SHAPES[2:3], ("f8", "i4", "i4", "c16", "u1", "f8", "f8") if whole else ("i4",)
    ):
        by_arrays(shape, dtype, 9 if whole else 3)
        by_masks(shape, dtype)
    by_arrays((40, 9), [("x", "f8"), ("n", "i4"), ("tag", "S4")], 3)
    bounds()
    of_itself()
    last_value_counts()
    wrong_uses()
    return rank()


if __name__ == "__main__":
    run_whole_or_some(main)
