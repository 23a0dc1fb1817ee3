# SPDX-License-Identifier: Apache-2.0
"""Assignments of distributed arrays, selections, accumulations and shapes: values, messages, bytes, errors.

python moving_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
from access_checks import messages
from array_checks import arrays, random_key, refused, same, values
from checks import run_whole_or_some
from numpy_table_checks import moved
from numpy_table_checks import same as same_with_nan

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, rank, ranks

SHAPES = ((1,), (101,), (13, 7), (5, 2, 6), (2, 3, 2, 3), (0,), (3, 0))


def filled(array: Any, model: np.ndarray) -> Any:
    """The array with the model's elements."""
    array.local[...] = model[
        np.ix_(*(one - first for one, (first, _) in zip(array.local_indices, array.bounds)))
    ]
    barrier()
    return array


def used(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """What a call returns, and the messages and bytes of this rank."""
    nearfetch.fence()
    sent, size = messages(), moved()
    result = call()
    return result, messages() - sent, moved() - size


def assigned(shape: tuple[int, ...], dtype: str) -> None:
    """`a[key] = b` by random keys, of arrays of all distributions, broadcast and converted."""
    random = np.random.default_rng(5)
    for number, (target, source) in enumerate(itertools.product(range(3), range(3))):
        for turn in range(4):
            model = values(shape, dtype, turn)
            array = filled(list(arrays(shape, dtype))[target], model)
            key = random_key(random, shape) if turn else ...
            extents = model[key].shape
            if not extents:
                extents = (1,)
            if turn == 2:  # broadcast
                extents = tuple(1 if random.integers(2) else extent for extent in extents)
            if turn == 3 and len(extents) > 1:
                extents = extents[1:]
            given = values(extents, "f4" if turn == 1 else dtype, 10 + number)
            array[key] = filled(list(arrays(extents, given.dtype))[source], given)
            model[key] = given if given.size != 1 else given.reshape(-1)[0]
            same(array[...], model)
            barrier()


def of_all_dtypes() -> None:
    """Of strings, dates, structures and one element: nothing is fetched to see whether it is one value."""
    for dtype in ("S3", "M8[s]", "?", "c16", [("x", "f8"), ("n", "i4"), ("tag", "S4")]):
        for extent in (1, 5000, 9000):
            model = values((extent,), dtype, extent)
            array, source = BlockArray(9000, dtype), filled(BlockArray(extent, dtype), model)
            before = moved()
            array[:extent] = source
            array[8999] = filled(BlockArray(1, dtype), model[:1])
            assert moved() - before <= (0.5 * array.nbytes + 4096 if ranks() > 1 else 0)
            same(array[: min(extent, 8999)], model[:8999])
            assert array[8999] == model[0]
            barrier()


def of_itself() -> None:
    """An array may be assigned to parts of itself, as if it was copied first."""
    for array in arrays((40,), int):
        model = np.arange(40)
        filled(array, model)
        array[::-1] = array
        model[::-1] = model.copy()
        same(array[...], model)
        barrier()
        array[...] = array
        same(array[...], model)
        barrier()


def bounds() -> None:
    """Positions count, whatever the bounds; results have those that remain."""
    model = np.arange(24).reshape(6, 4) % 7
    for kind in (BlockArray, CyclicArray):
        array = filled(kind(bounds=[(-3, 3), (5, 9)], dtype=int), model)
        other = kind((6, 4), int)
        other[...] = array
        same(other[...], model)
        array[0:3] = other[0:3]
        barrier()
        if rank() == 0:
            array[-3:0, 6] = np.arange(3)
        new = model.copy()
        new[3:] = model[:3]
        new[:3, 1] = np.arange(3)
        barrier()
        same(array[...], new)
        same(array[array > 3][...], new[new > 3])
        for seen, expected in zip(np.nonzero(array), np.nonzero(new)):
            same(seen[...], expected)
        assert array.cumsum(axis=0).bounds == np.flip(array).bounds == array.bounds
        assert np.diff(array, axis=0).bounds == ((-3, 2), (5, 9))
        same(array.cumsum(axis=1)[...], new.cumsum(axis=1))
        same(np.cumsum(array)[...], np.cumsum(new))
        same(np.roll(array, 2, axis=0)[...], np.roll(new, 2, axis=0))
        same(np.flip(array, 1)[...], np.flip(new, 1))
        same(np.diff(array, axis=0)[...], np.diff(new, axis=0))
        same(array.reshape(3, 8)[...], new.reshape(3, 8))
        same(np.concatenate([array, model])[...], np.concatenate([new, model]))
        same(np.stack([array, array], axis=1)[...], np.stack([new, new], axis=1))
        same(np.sum(array, axis=0, where=np.array([True, False, True, True]))[...], new.sum(0) * [1, 0, 1, 1])
        barrier()


def few_messages() -> None:
    """Each rank moves what it is to own, in at most two messages for each owner, a box in four."""
    rows, columns = 60 * ranks(), 12 * ranks() + 2
    model = values((rows, columns), "f8")
    share = model.nbytes / ranks()
    others = ranks() - 1
    made: dict[str, Any] = {
        "blocks": filled(BlockArray(model.shape, grid=(ranks(), 1)), model),
        "columns": filled(BlockArray(model.shape, grid=(1, ranks())), model),
        "cycles": filled(CyclicArray(model.shape, grid=(ranks(), 1)), model),
        "block cycles": filled(BlockCyclicArray(model.shape, grid=(ranks(), 1), block=(4, 5)), model),
    }
    for (target, array), (source, other) in itertools.product(made.items(), made.items()):
        title = f"{target} = {source}"
        portions = 2 if "cycles" in target and "cycles" in source else 1  # by way of blocks
        other = other.copy()
        array.fill(0)
        for assign in (lambda a, b: a.assign(b), lambda a, b: a.__setitem__(..., b)):
            _, sent, size = used(lambda: assign(array, other))  # noqa: B023
            nearfetch.release()
            limit = 0 if target == source else portions * 1.1 * share + 2048
            assert size <= limit, (title, size, limit)
            assert sent <= 4 * portions * others + 2, (title, sent)
            same(array[...], model)
            barrier()
    blocks, cycles = made["blocks"], made["cycles"]
    smaller = BlockArray((rows - 2, columns))
    for name, call, most_bytes, most_messages in (
        ("a slice", lambda: blocks.__setitem__(np.s_[2:], smaller), 1.1 * share, 4),
        ("along the grid", lambda: blocks.cumsum(axis=0), 8 * columns * ranks(), 4),
        ("along a row", lambda: blocks.cumsum(axis=1), 0, 0),
        ("in cycles", lambda: cycles.cumsum(axis=0), 2.2 * share + 8 * columns * ranks(), 12),
        ("in order", lambda: blocks.cumsum(), 1.3 * share + 8 * ranks(), 8),
        ("a mask", lambda: blocks[blocks > 97], 0.1 * share + 40 * rows, 12),
        ("a mask in cycles", lambda: cycles[cycles > 97], 1.5 * share + 40 * rows, 16),
        ("shifted", lambda: np.roll(blocks, 7, axis=0), 8 * 7 * columns, 4),
        ("shape", lambda: blocks.reshape(columns, rows), 1.3 * share, 2),
        ("joined", lambda: np.concatenate([blocks, blocks], axis=1), 0, 0),
        ("differences", lambda: np.diff(blocks, axis=1), 0, 0),
        ("where", lambda: blocks.mean(where=blocks > 3), 128 * ranks(), 8),
        ("where and out", lambda: blocks.sum(0, where=cycles > 3, out=BlockArray(columns)), share, 12),
    ):
        _, sent, size = used(call)
        nearfetch.release()
        assert size <= (most_bytes + 1024 if most_bytes and others else 0), (name, size, most_bytes)
        assert sent <= most_messages * others, (name, sent)
        barrier()


def selections(shape: tuple[int, ...], dtype: Any) -> None:
    """`a[mask]` of any distribution, with masks of any other one: empty, full and random."""
    for array in arrays(shape, dtype):
        model = values(shape, dtype)
        filled(array, model)
        for share in (0.0, 0.3, 1.0):
            chosen = np.random.default_rng(3).random(shape) < share
            for mask in arrays(shape, bool):
                found = array[filled(mask, chosen)]
                assert type(found) is BlockArray and found.shape == (np.count_nonzero(chosen),)
                same(found[...], model[chosen])
                barrier()


def sorts() -> None:
    """Of all kinds of elements, of few and of equal ones; no rank gets much more than its share."""
    random = np.random.default_rng(6)
    for extent in (0, 1, ranks(), 1003):
        for dtype in ("f8", "i2", "u1", "?", "c8", "M8[s]", "S3"):
            model = random.integers(0, 300, extent).astype(dtype)
            if dtype == "f8":
                model[random.random(extent) < 0.1] = np.nan
            for array in arrays((extent,), dtype):
                filled(array, model)
                same_with_nan(np.sort(array)[...], np.sort(model))
                same(np.argsort(array)[...], np.argsort(model, kind="stable"))
                if dtype[0] not in "cS":
                    same_with_nan(np.unique(array)[...], np.unique(model))
                barrier()
    for kind in (BlockArray, CyclicArray):
        model = values((23, 19), "i4")
        array = filled(kind((23, 19), "i4"), model)
        for axis in (0, 1, -1):
            same(np.sort(array, axis=axis)[...], np.sort(model, axis=axis))
            same(array.argsort(axis=axis)[...], model.argsort(axis=axis, kind="stable"))
            same(np.median(array, axis=axis)[...], np.median(model, axis=axis))
        same(np.sort(array, axis=None)[...], np.sort(model, axis=None))
        same(np.argsort(array, axis=None)[...], np.argsort(model, axis=None, kind="stable"))
        assert np.quantile(array, 0.25) == np.quantile(model, 0.25)
        assert np.isnan(np.median(filled(kind(3), np.array([1, np.nan, 2]))))
        barrier()
    count = 20_000
    share = 8 * count
    for model in (np.zeros(ranks() * count), random.random(ranks() * count), -np.arange(ranks() * count)):
        array = filled(BlockArray(model.size), model.astype(float))
        ordered, sent, size = used(lambda: np.sort(array))  # noqa: B023
        nearfetch.release()
        # Its share, or twice that, is read, and as much is written.
        assert size <= 3.2 * share + 4096 if ranks() > 1 else size == 0, (size, share)
        assert sent <= 8 * (ranks() - 1) + 8, sent
        barrier()
        assert (np.diff(ordered.local) >= 0).all() and ordered.sum() == array.sum()


def accumulations() -> None:
    """Of more ranks than indices, of infinities and NaN, and of booleans."""
    for extent in (1, 2, ranks() + 1, 3 * ranks() - 1):
        for array in arrays((extent,), "i2"):
            filled(array, np.arange(extent) - 3)
            same(np.cumsum(array)[...], np.cumsum(np.arange(extent, dtype="i2") - 3))
            same(np.maximum.accumulate(-array)[...], np.maximum.accumulate(3 - np.arange(extent, dtype="i2")))
            barrier()
    model = np.array([1.0, np.inf, 2.0, 3.0, np.nan, 0.0, 5.0])
    array = filled(BlockArray(7), model)
    for name in ("cumsum", "cumprod"):
        assert np.array_equal(getattr(array, name)()[...], getattr(model, name)(), equal_nan=True)
    barrier()


def reductions() -> None:
    """`where` and `out` of other layouts and shapes."""
    model = values((9, 8), "f8")
    chosen = values((9, 8), "?", 4)
    for array in arrays((9, 8), "f8"):
        filled(array, model)
        for mask in (
            *(filled(one, chosen) for one in arrays((9, 8), bool)),
            chosen,
            chosen[0],
            chosen[:, :1],
        ):
            flags = np.asarray(mask)
            assert array.sum(where=mask) == model.sum(where=flags)
            for axis in (0, 1):
                seen = array.mean(axis=axis, where=mask)
                assert np.allclose(seen[...], model.mean(axis=axis, where=flags), equal_nan=True)
        row = filled(CyclicArray(8, bool), chosen[1])
        assert np.isclose(array.var(where=row), model.var(where=chosen[1]))
        for out in arrays((8,), "f4"):
            assert array.sum(axis=0, out=out) is out
            same(out[...], model.sum(axis=0, dtype="f4"))
        for seen, expected in (
            (np.add.reduce(array, 1), np.add.reduce(model, 1)),
            (np.add.accumulate(array, 1), np.add.accumulate(model, 1)),
            (array.var(0, None, None, 1), model.var(0, None, None, 1)),
            (array.sum(None, "f4"), model.sum(None, "f4")),
            (array.min(1, None, True), model.min(1, None, True)),
        ):
            assert np.allclose(np.asarray(seen), expected) and seen.shape == expected.shape
        number = np.zeros((), "i8")
        assert array.max(out=number) is number and number == int(model.max())
        barrier()


def wrong_uses() -> None:
    """They say what is wrong, and change nothing."""
    array, other = BlockArray((4, 5)), CyclicArray(4)
    array.fill(1)
    for call, words, kind in (
        (lambda: array.__setitem__(4, other), "index 4 of dimension 0", IndexError),
        (lambda: array.put([0], other), "np.asarray()", nearfetch.Error),
        (lambda: array.put_async(0, other), "np.asarray()", nearfetch.Error),
        (lambda: array[other > 1], "use a mask of these", IndexError),
        (lambda: array.assign(other), "use arrays of the same bounds", nearfetch.Error),
        (lambda: array.assign(BlockArray((4, 5), int)), "use the same dtype", nearfetch.Error),
        (lambda: array.reshape(3, 7), "20 elements", nearfetch.Error),
        (lambda: array.reshape(-1, -1, 20), "20 elements", nearfetch.Error),
        (lambda: array.reshape(1, 1, 1, 4, 5), "1 to 4", nearfetch.Error),
        (lambda: np.squeeze(array, 0), "name those of one index", nearfetch.Error),
        (lambda: np.expand_dims(array, 4), "the result has 3 dimensions", nearfetch.Error),
        (lambda: np.stack([array, other]), "use the same ones", nearfetch.Error),
        (lambda: np.concatenate([array, np.ones((3, 4))]), "use the same ones", nearfetch.Error),
        (lambda: array.cumsum(axis=2), "use 0 to 1", IndexError),
        (lambda: array.max(where=array > 0), "give initial=", nearfetch.Error),
        (lambda: array.sum(axis=0, out=BlockArray(4)), "the result has ((0, 5),)", nearfetch.Error),
        (lambda: array.sum(out=BlockArray(1)), "give a numpy array of shape ()", nearfetch.Error),
        (lambda: np.var(array, ddof=1, correction=1), "give one of them", nearfetch.Error),
        (lambda: np.bincount(other), "whole numbers", nearfetch.Error),
        (lambda: np.where(array, 1), "give two, or none", nearfetch.Error),
    ):
        refused(call, words, kind)
    for call in (
        lambda: array.__setitem__(..., other),
        lambda: array.__setitem__(0, array),
        lambda: np.reshape(array, 20, copy=False),
    ):
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("not refused")
    try:
        array.sum(nothing=1)
    except TypeError as problem:
        assert "nothing" in str(problem)
    else:
        raise AssertionError("not refused")
    barrier()
    assert (array[...] == 1).all()
    barrier()


def main(whole: bool) -> int:
    """All of it, in one program; on MPI, where it takes long, fewer shapes."""
    for shape in SHAPES if whole else SHAPES[2:3]:
        assigned(shape, "i4")
    of_all_dtypes()
    of_itself()
    bounds()
    few_messages()
    for shape, dtype in zip(SHAPES if whole else SHAPES[2:3], ("f8", "i4", "c16", "u1", "f8", "f8", "i4")):
        selections(shape, dtype)
    sorts()
    accumulations()
    reductions()
    wrong_uses()
    return rank()


if __name__ == "__main__":
    run_whole_or_some(main)
