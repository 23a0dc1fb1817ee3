# SPDX-License-Identifier: Apache-2.0
"""Accesses to many elements at once, and atomic updates, against numpy: values, messages and errors.

python access_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np
from array_checks import arrays, random_key, refused, same, values
from checks import run_whole_or_some
from numpy_table_checks import moved

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, rank, ranks, statistics

SHAPES = ((1,), (101,), (1, 9), (13, 7), (3, 1, 4), (5, 2, 6), (2, 3, 2, 3), (0,), (3, 0))
DTYPES = ("f8", "i4", "c16", "?", "u1", [("x", "f8"), ("n", "i4"), ("tag", "S4")])


def messages() -> int:
    """What this rank has sent or asked for: GETs, PUTs, and requests to owners."""
    known = statistics()
    return known["get_messages"] + known["put_messages"] + known["calls"]


def advanced_key(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random key with arrays of indices or masks; it may select nothing."""
    words: list[Any] = []
    counts = tuple(random.integers(0, 4, random.integers(1, 3)))
    while len(words) < len(shape):
        extent = shape[len(words)]
        kind = random.integers(6)
        if kind == 0 and extent:
            words.append(int(random.integers(-extent, extent)))
        elif kind == 1:
            words.append(random_key(random, (extent,), full=True))
        elif kind == 2 and not any(isinstance(word, (list, np.ndarray)) for word in words):
            return (*words, random.integers(0, 2, shape[len(words) :]) > 0)
        elif extent == 0:
            words.append([])
        else:
            words.append(random.integers(-extent, extent, random.choice([1, counts[-1]])).tolist())
    if random.integers(4) == 0:
        words[-1:] = [Ellipsis, words[-1]]
    return words[0] if len(words) == 1 else tuple(words)


def keys(shape: tuple[int, ...], turns: int) -> Iterator[Any]:
    """Random keys that numpy takes, the same in all ranks."""
    random = np.random.default_rng(len(shape) + sum(shape))
    model = np.empty(shape)
    for _ in range(turns):
        key = random_key(random, shape) if random.integers(4) == 0 else advanced_key(random, shape)
        try:
            model[key]
        except IndexError:
            continue
        yield key


def reads_and_writes(shape: tuple[int, ...], dtype: Any, turns: int) -> None:
    """Random keys; one rank writes, and sees it at once; all see it after the barrier."""
    for array in arrays(shape, dtype):
        model = values(shape, dtype)
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        for turn, key in enumerate(keys(shape, turns)):
            same(array[key], np.asarray(model[key]))
            barrier()
            new = values(np.shape(model[key]), dtype, turn)
            numbers = np.arange(model.size).reshape(shape)[key]
            # Which value numpy keeps of an element that is named twice depends on the key.
            if new.size and (turn % 3 == 0 or np.unique(numbers).size < numbers.size):
                new = new.reshape(-1)[0]  # broadcast
            model[key] = new
            if rank() == turn % ranks():
                array[key] = new
                same(array[...], model)
            barrier()
            same(array[key], np.asarray(model[key]))
            barrier()
        same(array, model)
        barrier()


def masks() -> None:
    """Of all dimensions, of the first, as a list, and distributed ones."""
    model = np.arange(60).reshape(5, 12)
    for array in arrays((5, 12), int):
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        for mask in (model % 7 == 3, np.zeros((5, 12), bool), [True, False, True, True, False]):
            same(array[mask], model[mask])
        same(array[[False] * 5, 1], model[[False] * 5, 1])
        same(array[..., model[0] > 4], model[..., model[0] > 4])
        new = model.copy()
        new[model % 2 == 1] = -1
        barrier()
        if rank() == 0:
            array[model % 2 == 1] = -1
        barrier()
        same(array, new)
        barrier()
        new[new > 20] = 5
        array[array > 20] = 5  # all ranks: each its own elements
        barrier()
        same(array, new)
        same(array[array > 3][...], new[new > 3])
        barrier()


def last_value_counts() -> None:
    """Of an index that an array names twice."""
    for array in arrays((30,), int):
        barrier()
        if rank() == 0:
            array[[3, 29, 3, 29, -1]] = [1, 2, 3, 4, 5]
            array.put([7, 20, 7], [1, 2, 3])
        barrier()
        assert array[[3, 29, 7, 20]].tolist() == [3, 5, 3, 2]
        barrier()


def takes_and_puts(shape: tuple[int, ...], dtype: Any) -> None:
    """numpy.take and numpy.put."""
    random = np.random.default_rng(2)
    for array in arrays(shape, dtype):
        model = values(shape, dtype)
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        for count in ((7,), (2, 3), (0,), ()):
            flat = random.integers(-model.size, model.size, count)
            same(array.take(flat), model.take(flat))
            for axis in range(-len(shape), len(shape)):
                named = random.integers(-shape[axis], shape[axis], count)
                same(array.take(named, axis=axis), model.take(named, axis=axis))
            barrier()
            new = values((3,), dtype, 5)
            np.put(model, flat, new)
            if rank() == ranks() - 1:
                array.put(flat, new)
                array.put(flat, new[:0])
            barrier()
            same(array, model)
            barrier()


def bounds() -> None:
    """Bounds that do not begin at 0: indices are what they say, and flat ones count from the first."""
    array = BlockArray(bounds=[(-3, 4), (10, 12)], dtype=int)
    first, second = array.local_indices
    array.local[...] = np.add.outer(10 * first, second)
    barrier()
    assert array[[-3, 3], [10, 11]].tolist() == [-20, 41]
    assert array[[-1, 0]].tolist() == [[0, 1], [10, 11]]
    assert array[[True, *[False] * 5, True], 10].tolist() == [-20, 40]
    assert array.take([0, -1]).tolist() == [-20, 41] and array.take([-3], axis=0).tolist() == [[-20, -19]]
    refused(lambda: array[[4], [10]], "index 4 of dimension 0", IndexError)
    barrier()
    if rank() == 0:
        array[::-2, 11] = [1, 2, 3, 4]
        array.accumulate(np.s_[:, 10], 1)
    barrier()
    assert array[:, 11].tolist() == [4, -9, 3, 11, 2, 31, 1]
    assert array[:, 10].tolist() == [-19, -9, 1, 11, 21, 31, 41]
    barrier()


def few_messages(kind: type) -> None:
    """Strided and scattered accesses take at most two messages for each owner."""
    count = 10_000
    more = {"block": 7} if kind is BlockCyclicArray else {}
    array = kind(2 * count * ranks(), **more)
    model = np.zeros(array.size)
    matrix = kind((60, 40), grid=(ranks(), 1), **({"block": (3, 3)} if more else {}))
    barrier()
    if rank() == 0:
        others = ranks() - 1
        index = np.random.default_rng(1).integers(0, array.size, count)
        mask = np.random.default_rng(2).random(array.size) < 0.1
        accesses: dict[str, Callable[[], Any]] = {
            "strided write": lambda: array.__setitem__(slice(count, 3 * count, 2), 3.0),
            "strided read": lambda: array[count : 3 * count : 2],
            "all of it, backwards": lambda: array[::-3],
            "array": lambda: array[index],
            "array written": lambda: array.__setitem__(index, 1.0),
            "mask": lambda: array[mask],
            "mask written": lambda: array.__setitem__(mask, 2.0),
            "take": lambda: array.take(index),
            "put": lambda: array.put(index, [1.0, 2.0]),
            "accumulate": lambda: array.accumulate(index, 1.0),
            "a few": lambda: array[[0, -1, -2, array.size // 2, array.size // 2 + 800]],
            "a few written": lambda: array.__setitem__(
                [0, -1, -5000, array.size // 2, array.size // 2 + 800], 4
            ),
            "rows": lambda: matrix[[1, 40, 59, 3]],
            "columns": lambda: matrix[:, ::3],
            "columns written": lambda: matrix.__setitem__(np.s_[::2, ::3], 1.0),
            "diagonal": lambda: matrix[range(40), range(40)],
        }
        for name, access in accesses.items():
            nearfetch.fence()
            before = messages()
            access()
            nearfetch.release()
            assert messages() - before <= 2 * others, (name, messages() - before)
        before = messages()
        array[count : 3 * count : 2] = 3.0
        nearfetch.release()
        assert messages() - before <= others
    barrier()
    model[count : 3 * count : 2] = 3.0
    if rank() == 0:
        same(array[count : 3 * count : 2], model[count : 3 * count : 2])
    barrier()


def few_bytes() -> None:
    """What is not named stays where it is."""
    array = BlockArray(100_000 * ranks())
    barrier()
    if rank() == 0:
        index = np.random.default_rng(1).integers(0, array.size, 1_000)
        for access in (
            lambda: array[index],
            lambda: array.__setitem__(index, 1.0),
            lambda: array.accumulate(index, 1.0),
            lambda: array[::1000],
            lambda: array.__setitem__(np.s_[::1000], 1.0),
        ):
            before = moved()
            access()
            nearfetch.release()
            assert moved() - before < 20 * 1_000 + 500 * ranks()
    barrier()


def accumulates(dtype: str) -> None:
    """All operations, as numpy's `at`; indices repeat, and all ranks do it at the same time."""
    shape = (11, 5)
    random = np.random.default_rng(4)
    functions = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
    if dtype[0] == "c":
        del functions["min"], functions["max"]
    for op, function in functions.items():
        for array in arrays(shape, dtype):
            model = values(shape, dtype)
            array.local[...] = model[np.ix_(*array.local_indices)]
            barrier()
            for key in (
                tuple(random.integers(-extent, extent, 30) for extent in shape),
                np.s_[::2, 1],
                ([0, 0], slice(None)),
                (3, 4),
                values(shape, "?", 3),
                ([], []),
            ):
                added = values(np.shape(model[key]), dtype, 8)
                if dtype != "?":
                    added = (added.real.astype(int) % 2 + 1).astype(dtype)
                array.accumulate(key, added, op)
                for _ in range(ranks()):
                    function.at(model, key, added)
                barrier()
                same(array, model)
                barrier()


def exact_sums() -> None:
    """Whatever ranks do at the same time, nothing is lost."""
    for kind in (BlockArray, CyclicArray):
        array, counter, best = kind(50, "i8"), BlockArray(1, "i8"), BlockArray(3, "f8")
        random = np.random.default_rng(rank())
        everything = np.zeros(50, "i8")
        for r in range(ranks()):
            other = np.random.default_rng(r)
            for _ in range(30):
                np.add.at(everything, other.integers(0, 50, 40), 1)
        seen = []
        for _ in range(30):
            array.accumulate(random.integers(0, 50, 40), 1)
            seen.append(int(counter.fetch_add(0, 1)))
            known = best[2]
            while known < rank() + 1 and (was := best.compare_and_swap(2, known, rank() + 1)) != known:
                known = was
        assert seen == sorted(seen)
        barrier()
        same(array, everything)
        assert counter[0] == 30 * ranks() and best[...].tolist() == [0.0, 0.0, ranks()]
        barrier()


def single_updates() -> None:
    """Of any numbers; they return what was before."""
    for dtype in ("i1", "u2", "f4", "f8", "c8", "c16"):
        array = BlockArray((3, 4), dtype)
        barrier()
        if rank() == 0:
            for index in ((0, 0), (2, -1), (-1, 0)):
                assert array.fetch_add(index, 2) == 0
                before = array.fetch_add(index, 3)
                assert before == 2 and before.dtype == array.dtype
                assert array.compare_and_swap(index, 4, 9) == 5 and array[index] == 5
                assert array.compare_and_swap(index, 5, 9) == 5 and array[index] == 9
        barrier()
        assert array[...].sum() == 27
        barrier()


def order_of_own_writes() -> None:
    """Single writes that the cache keeps, and bulk accesses: all in the order of the program."""
    for array in arrays((400,), int):
        if rank() == 0:
            model = np.zeros(400, int)
            random = np.random.default_rng(9)
            for turn in range(60):
                at, index = int(random.integers(400)), random.integers(0, 400, 50)
                array[at] = model[at] = turn
                assert array[at] == turn
                kind = turn % 4
                if kind == 0:
                    array[index] = turn
                    model[index] = turn
                elif kind == 1:
                    array.accumulate(index, 1)
                    np.add.at(model, index, 1)
                elif kind == 2:
                    array[at % 7 :: 7] = -turn
                    model[at % 7 :: 7] = -turn
                else:
                    array.fetch_add(at, 3)
                    model[at] += 3
                assert [array[int(i)] for i in index[:9]] == model[index[:9]].tolist()
                same(array[index], model[index])
        barrier()
        if rank() == 0:
            same(array, model)
        barrier()


def prefetched() -> None:
    """Bulk reads see what single reads see; what this rank writes is seen in prefetched data."""
    for kind in (BlockArray, CyclicArray):
        array = kind((12, 10), int)
        array.local[...] = 1
        barrier()
        array.prefetch_all_to_all(consistent=False)
        barrier()
        array.local[...] = 2
        barrier()
        same(array[:, [1, 4]], np.array([[array[i, j] for j in (1, 4)] for i in range(12)]))
        before = messages()
        same(array[::2, ::3], np.array([[array[i, j] for j in range(0, 10, 3)] for i in range(0, 12, 2)]))
        assert messages() == before
        barrier()
        if rank() == 0:
            array[::2, [3, 5]] = 7
            assert all(array[i, j] == 7 for i in range(0, 12, 2) for j in (3, 5))
            array.accumulate(np.s_[::2, 3], 1)
        barrier()
        array.update_prefetch()
        assert all(array[i, 3] == 8 and array[i, 5] == 7 for i in range(0, 12, 2))
        barrier()
        array.evict_prefetch()
        array.prefetch_all_to_all()
        assert array[0, 3] == 8
        barrier()
        if rank() == 0:
            array.accumulate(np.s_[:, 3], 1)
            assert array[0, 3] == 9 and array[1, 3] == 3
        barrier()


def asynchronous() -> None:
    """Gets and puts of all kinds of keys while the rank computes."""
    model = np.arange(84).reshape(12, 7)
    for array in arrays((12, 7), int):
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        keys = (3, (2, -1), np.s_[2:5], np.s_[::-3, 1:6:2], ([1, 11], [0, 6]), model % 5 == 1, np.s_[4:4], [])
        transfers = [array.get_async(key) for key in keys]
        for key, transfer in zip(keys, transfers):
            expected = np.asarray(model[key])
            with transfer:
                pass
            assert transfer.test()
            same(transfer.result, expected)
        barrier()
        new = model.copy()
        for turn, key in enumerate(keys):
            new[key] = -turn
            if rank() == turn % ranks():
                given = np.full(np.shape(new[key]), -turn)
                transfer = array.put_async(key, given)
                given[...] = 99
                assert transfer.wait() is None
                same(array[key], np.asarray(new[key]))
            barrier()
        same(array, new)
        array.get_async(np.s_[:])  # nobody waits for it
        barrier()
    refused(lambda: array.get_async(12), "index 12", IndexError)
    barrier()


def wrong_uses() -> None:
    """They say what is wrong, and change nothing."""
    array = BlockArray((4, 5), "f4")
    array.fill(1)
    whole = BlockArray(4, int)
    for call, words, kind in (
        (lambda: array[[0, 4]], "index 4 of dimension 0", IndexError),
        (lambda: array[:, [0, -6]], "index -6 of dimension 1", IndexError),
        (lambda: array[[0, 1], [0, 1, 2]], "different shapes", IndexError),
        (lambda: array[np.ones(3, bool)], "a mask of shape (3,)", IndexError),
        (lambda: array[np.ones((5, 4), bool)], "a mask of shape (5, 4)", IndexError),
        (lambda: array[np.ones((4, 5, 1), bool)], "a mask of shape", IndexError),
        (lambda: array[[0.5]], "whole numbers", IndexError),
        (lambda: array[["a"]], "whole numbers", IndexError),
        (lambda: array[[0], [0], [0]], "at most as many", IndexError),
        (lambda: array[whole], "np.asarray()", IndexError),
        (lambda: array.take(whole), "np.asarray()", IndexError),
        (lambda: array.take([20]), "index 20", IndexError),
        (lambda: array.take([0], axis=2), "axis 2", IndexError),
        (lambda: array.__setitem__([0, 4], 2), "index 4 of dimension 0", IndexError),
        (lambda: array.put([0, 20], 2), "index 20", IndexError),
        (lambda: array.accumulate(([0, 4], 0), 2), "index 4 of dimension 0", IndexError),
        (lambda: array.accumulate([0], 1, "xor"), "sum, prod, min or max", nearfetch.Error),
        (lambda: array.fetch_add((0, 5), 1), "index 5 of dimension 1", IndexError),
        (lambda: array.fetch_add(0, 1), "use as many", nearfetch.Error),
        (lambda: BlockArray(3, "c8").accumulate([0], 1, "max"), "without an order", nearfetch.Error),
        (
            lambda: BlockArray(3, "M8[s]").accumulate([0], np.datetime64(1, "s")),
            "are combined",
            nearfetch.Error,
        ),
        (lambda: BlockArray(3, ">f8").fetch_add(0, 1), "are combined", nearfetch.Error),
        (lambda: BlockArray(3, "g").compare_and_swap(0, 1, 2), "another dtype", nearfetch.Error),
    ):
        refused(call, words, kind)
    for raised, call in (
        (ValueError, lambda: array.__setitem__([0, 1], np.zeros((3, 5)))),
        (ValueError, lambda: array.__setitem__(np.ones((4, 5), bool), [1, 2])),
        (ValueError, lambda: array.accumulate([0, 1], np.zeros((3, 5)))),
        (ValueError, lambda: array.__setitem__([0, 1], "x")),
        (TypeError, lambda: whole.accumulate([0], 1.5)),
        (TypeError, lambda: whole.fetch_add(0, 1.5)),
        (TypeError, lambda: whole.compare_and_swap(0, 0, 1j)),
        (IndexError, lambda: array[[0], None]),
    ):
        try:
            call()
        except raised:
            continue
        raise AssertionError(f"no {raised.__name__}")
    barrier()
    assert (array[...] == 1).all() and not whole[...].any()
    barrier()


def main(whole: bool) -> int:
    """All of it, in one program; on MPI, where it takes long, fewer shapes."""
    for number, shape in enumerate(SHAPES if whole else SHAPES[3:6:2]):
        reads_and_writes(shape, DTYPES[number % len(DTYPES)], 25 if whole else 8)
        if np.prod(shape):
            takes_and_puts(shape, DTYPES[(number + 1) % len(DTYPES)])
    for dtype in DTYPES[:3]:
        reads_and_writes((13, 7), dtype, 12)
    masks()
    last_value_counts()
    bounds()
    for kind in (BlockArray, CyclicArray, BlockCyclicArray):
        few_messages(kind)
    for dtype in ("i4", "f8", "c16", "u1", "?") if whole else ("f8",):
        accumulates(dtype)
    few_bytes()
    exact_sums()
    single_updates()
    order_of_own_writes()
    prefetched()
    asynchronous()
    wrong_uses()
    return rank()


if __name__ == "__main__":
    run_whole_or_some(main)
