# SPDX-License-Identifier: Apache-2.0
"""Elements of any fixed size: structures, vectors, strings, wide numbers, dates.

python dtype_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from pathlib import Path

import numpy as np
from array_checks import arrays, refused
from checks import run_checks

from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CyclicArray,
    allreduce,
    barrier,
    from_numpy,
    load,
    rank,
    ranks,
    save,
    statistics,
)

PARTICLE = np.dtype([("x", "f8"), ("y", "f8"), ("id", "i4"), ("name", "S4")])
PADDED = np.dtype([("flag", "?"), ("x", "f8"), ("n", "u2")], align=True)
NESTED = np.dtype([("p", "f4", (3,)), ("id", "i4"), ("inner", [("a", "u1"), ("b", "M8[s]")])])
DTYPES = (
    PARTICLE,
    PADDED,
    NESTED,
    np.dtype([("position", "f8", (3,))]),
    np.dtype([("a", "u1"), ("b", ">i4")]),
    np.dtype("S20"),
    np.dtype("S1"),
    np.dtype("S63"),
    np.dtype("U5"),
    np.dtype(">U3"),
    np.dtype(np.clongdouble),
    np.dtype(np.longdouble),
    np.dtype("M8[us]"),
    np.dtype("m8[D]"),
    np.dtype("V10"),
    np.dtype("V64"),
    np.dtype("f2"),
    np.dtype("f8"),
)
SHAPES = ((7,), (5, 4), (3, 2, 4), (1,), (0,), (3, 0))


def valued(shape, dtype, seed=0):
    """Random values without padding bytes."""
    count, random = int(np.prod(shape)), np.random.default_rng(seed)
    made = np.zeros(count, dtype)
    _fill(made, random)
    return made.reshape(shape)


def _fill(made, random):
    if made.dtype.names is not None:
        for name in made.dtype.names:
            _fill(made[name], random)
    elif made.dtype.kind in "SU":
        made[...] = [str(number) for number in random.integers(0, 10**5, made.size)] if made.size else []
    elif made.dtype.kind == "V":
        made.view("u1")[...] = random.integers(0, 256, made.nbytes).astype("u1")
    elif made.dtype.kind == "c":
        made.real[...], made.imag[...] = random.random(made.shape), random.random(made.shape)
    else:
        made[...] = random.integers(0, 100, made.shape).astype(made.dtype)


def same(seen, expected):
    """Asserts that the elements are equal."""
    seen = np.asarray(seen)
    assert seen.dtype == expected.dtype and seen.shape == expected.shape, (seen, expected)
    assert equal(seen, expected), (seen, expected)


def equal(one, other):
    """Whether all elements are the same, field by field."""
    if one.dtype.names is not None:
        return all(equal(one[name], other[name]) for name in one.dtype.names)
    return np.array_equal(one, other)


def reads_and_writes(shape, dtype):
    """Elements, boxes, steps and lists of indices, by one rank after another."""
    for array in arrays(shape, dtype):
        assert (array.shape, array.dtype, array.nbytes) == (shape, dtype, dtype.itemsize * array.size)
        same(array[...], np.zeros(shape, dtype))
        model = valued(shape, dtype)
        barrier()
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        same(array[...], model)
        same(array[::-2], model[::-2])
        for index in np.ndindex(*shape):
            assert equal(np.asarray(array[index]), np.asarray(model[index]))
            assert array.owner(index) == array.owner([-extent + i for i, extent in zip(index, shape)])
        barrier()
        for turn, key in enumerate([(0,) * len(shape), slice(None, None, 2), slice(1, 3), Ellipsis]):
            if not model.size:
                continue
            new = valued(np.shape(model[key]), dtype, turn + 1)
            if rank() == turn % ranks():
                array[key] = new[()]
            model[key] = new
            barrier()
            same(array[...], model)
            barrier()
        rows = tuple(np.arange(extent)[::-1] for extent in shape[:1]) + (0,) * (len(shape) - 1)
        if model.size:
            same(array.take(rows), model[rows])
            same(array[[0, -1, 0]], model[[0, -1, 0]])
            mask = np.arange(shape[0]) % 2 == 0
            same(array[mask], model[mask])
            barrier()
            if rank() == ranks() - 1:
                array[[-1, 0]] = model[[0, -1]]
                array.put(0, model.flat[0])
            model[[-1, 0]] = model[[0, -1]].copy()
            model.flat[0] = model[-1].flat[0]
            barrier()
            same(array[...], model)
        barrier()


def whole_arrays(shape, dtype):
    """Copies, fill, other distributions, other bounds."""
    model = valued(shape, dtype)
    for array in arrays(shape, dtype):
        if rank() == 0 and array.size:
            array[...] = model
        barrier()
        same(array.copy()[...], model)
        for other in arrays(shape, dtype):
            other.assign(array)
            same(other[...], model)
            barrier()
        for other in arrays(shape[::-1], dtype):
            other.assign(array, range(len(shape))[::-1])
            same(other[...], model.T)
            barrier()
        same(array.T[...], model.T)
        same(np.zeros_like(array)[...], np.zeros_like(model))
        if model.size:
            array.fill(model.flat[-1])
            same(array[...], np.full_like(model, model.flat[-1]))
        larger = (shape[0] + 2, *shape[1:])
        array.resize(larger)
        assert array.shape == larger
        same(array[: shape[0]], np.full_like(model, model.flat[-1]) if model.size else model)
        same(array[shape[0] :], np.zeros((2, *shape[1:]), dtype))
        barrier()
    same(from_numpy(model)[...], model)
    same(from_numpy(model if rank() == ranks() - 1 else None, root=ranks() - 1)[...], model)


def prefetched(shape, dtype):
    """Halos, boxes, everything, and what was observed."""
    model = valued(shape, dtype)
    for array in arrays(shape, dtype):
        array.local[...] = model[np.ix_(*array.local_indices)]
        array.prefetch_all_to_all(consistent=False)
        assert all(array.is_prefetched(index) or array.owner(index) == rank() for index in np.ndindex(*shape))
        same(array[...], model)
        for index in np.ndindex(*shape):
            assert equal(np.asarray(array[index]), np.asarray(model[index]))
        barrier()
        array.evict_prefetch()
        array.prefetch_stencil(1)
        array.prefetch_custom([[Ellipsis]] * ranks())
        same(array[...], model)
        array.evict_prefetch()
        array.observe()
        remote = [index for index in np.ndindex(*shape) if array.owner(index) != rank()]
        for index in remote:
            array[index]
        assert array.observed()["elements"] == len(remote)
        array.prefetch_observed()
        assert all(array.is_prefetched(index) for index in remote)
        barrier()
    blocks = BlockArray(shape, dtype)
    blocks.local[...] = model[np.ix_(*blocks.local_indices)]
    blocks.prefetch_stencil(1)
    around, box = blocks.with_halo(1)
    same(around, model[box])
    barrier()


def in_files(shape, dtype, folder):
    """Written and read as .npy, by numpy too."""
    model = valued(shape, dtype)
    path = folder / "array.npy"
    save(path, from_numpy(model))
    same(np.load(path), model)
    barrier()
    same(load(path)[...], model)
    barrier()


def with_numpy():
    """What numpy has for a dtype works on own parts, and what it lacks is its error."""
    names = valued((6,), np.dtype("S20"))
    a, b = from_numpy(names), from_numpy(names)
    b[2] = b"another"
    barrier()
    same((a == b)[...], names == b[...])
    assert not (a == b).all() and (a == a).all()
    words = from_numpy(np.array(["one", "two", "three", "four", "five"]))
    same((words == "two")[...], words[...] == "two")
    points = valued((6,), PARTICLE)
    c, d = from_numpy(points), from_numpy(points)
    same((c == d)[...], points == points)
    complex_numbers = valued((3, 5), np.dtype(np.clongdouble))
    e = from_numpy(complex_numbers)
    same((e * 2 + 1)[...], complex_numbers * 2 + 1)
    assert abs(e.sum() - complex_numbers.sum()) < 1e-15 * e.size
    same(
        e.sum(axis=0, keepdims=True).astype("c16")[...].round(9),
        complex_numbers.sum(axis=0, keepdims=True).astype("c16").round(9),
    )
    assert e[...].real.max() == np.real(e).max()
    days = valued((9,), np.dtype("M8[us]"))
    f = from_numpy(days)
    assert f.min() == days.min() and f.max() == days.max() and f.argmax() == days.argmax()
    same((f - f[0])[...], days - days[0])
    for array in (c, from_numpy(valued((4,), np.dtype("V10")))):
        with contextlib.suppress(TypeError):
            raise AssertionError(f"{array.dtype} has the sum {array.sum()}")
    barrier()
    e.prefetch_stencil(1)
    before = e[...]
    if ranks() > 1 and rank() == 0:
        neighbour = next(i for i in np.ndindex(3, 5) if e.owner(i) != 0 and e.is_prefetched(i))
        e.contribute(neighbour, 2 + 1j)
    e.accumulate_ghosts()
    assert abs((e[...] - before).sum() - (2 + 1j if ranks() > 1 else 0)) < 1e-15
    barrier()


def fields():
    """Of the own part; of a distributed array they are refused."""
    a = BlockArray(6, PARTICLE)
    a.local["x"] = a.local_indices[0]
    barrier()
    assert [float(a[i]["x"]) for i in range(6)] == [0, 1, 2, 3, 4, 5]
    same(a[...]["x"], np.arange(6.0))
    refused(
        lambda: a["x"], "use a.local['x'], a view of this rank's part, or a[...]['x'], a copy", IndexError
    )
    refused(lambda: a[["x", "id"]], "a view of this rank's part", IndexError)
    refused(lambda: a.__setitem__("x", 1), "a view of this rank's part", IndexError)
    one = a[3]
    one["x"] = 9
    assert a[3]["x"] == 3, "an element is a copy"
    barrier()


def vectors():
    """A dtype whose elements are arrays adds their dimensions, as in numpy."""
    for kind, more in ((BlockArray, {}), (CyclicArray, {}), (BlockCyclicArray, {"block": 2})):
        a = kind(7, (float, 3), **more)
        assert a.shape == np.zeros(7, (float, 3)).shape and a.dtype == float and a.grid == (ranks(), 1)
        a.local[...] = np.add.outer(10.0 * a.local_indices[0], [1, 2, 3])
        barrier()
        assert a[5].tolist() == [51, 52, 53] and a.local.shape[1] == 3
        same(a[...], np.add.outer(10.0 * np.arange(7), [1.0, 2, 3]))
        assert np.linalg.norm(a[2]) == np.sqrt(21**2 + 22**2 + 23**2)
        barrier()
    b = BlockArray((4, 4), "(2,2)i4", grid=(1, ranks()))
    assert b.shape == (4, 4, 2, 2) and b.grid == (1, ranks(), 1, 1)
    c = BlockArray(bounds=[(2, 5)], dtype=(float, 3))
    assert c.bounds == ((2, 5), (0, 3)) and c[4, 2] == 0
    barrier()


def patterns():
    """Rows, columns and the transpose of elements of any size, read without messages."""
    for shape, dtype in (((6, 5), PARTICLE), ((5, 7), np.dtype("S20")), ((3, 4, 2), np.dtype("V9"))):
        model = valued(shape, dtype, seed=4)
        for array in arrays(shape, dtype):
            array.local[...] = model[np.ix_(*array.local_indices)]
            barrier()
            own = set(itertools.product(*(numbers.tolist() for numbers in array.local_indices)))
            lines = [
                (array.prefetch_row_wise, lambda i, j: i[:-1] == j[:-1]),
                (array.prefetch_column_wise, lambda i, j: i[1:] == j[1:]),
            ]
            if len(shape) == 2:
                lines.append((array.prefetch_transpose, lambda i, j: i == j[::-1]))
            for pattern, is_wanted in lines:
                wanted = {i for i in np.ndindex(shape) if i not in own and any(is_wanted(i, j) for j in own)}
                for consistent in (True, False):
                    with pattern(consistent=consistent):
                        seen = [array[i] for i in sorted(wanted)]  # fetched, where it is consistent
                        before = statistics()["get_messages"]
                        again = [array[i] for i in sorted(wanted)]
                        assert statistics()["get_messages"] == before
                        same(np.array(again, dtype), np.array([model[i] for i in sorted(wanted)], dtype))
                        same(np.array(seen, dtype), np.array(again, dtype))
                        missing = [i for i in wanted if not array.is_prefetched(i)]
                        assert not missing, (pattern.__name__, missing)
            barrier()


def updates():
    """Single elements of other sizes, atomically; nobody sees or leaves half of one."""
    names = BlockArray(5, "S20")
    last = len(names) - 1
    first = names.compare_and_swap(last, b"", b"rank %d was here" % rank())
    barrier()
    winner = names[last]
    assert allreduce(int(first == b"")) == 1 and winner.startswith(b"rank ") and winner.endswith(b" was here")
    assert names.compare_and_swap(last, b"nobody", b"x") == winner == names[last]
    numbers = CyclicArray(3, np.clongdouble)
    seen = [numbers.fetch_add(1, 1 + 2j) for _ in range(10)]
    assert all(one.imag == 2 * one.real for one in seen), seen
    barrier()
    assert numbers[...].tolist() == [0, (1 + 2j) * 10 * ranks(), 0]
    barrier()


def gathers(dtype):
    """Gathered elements have the values of the last update, of any size; an owner is asked once."""
    random = np.random.default_rng(rank())
    count = 40 * ranks()
    for array in arrays((count,), dtype):
        for named in (random.integers(-count, count, (6, 5)), np.zeros((0, 3), int), np.arange(count)[::-1]):
            gathered = array.gather(named)
            assert (gathered.shape, gathered.dtype) == (named.shape, array.dtype)
            expected = np.zeros(named.shape, dtype)
            for seed in range(2):
                model = valued((count,), dtype, seed)
                array.local[...] = model[array.local_indices[0]]
                barrier()
                same(np.asarray(gathered), expected)
                before = statistics()
                gathered.update()
                after = statistics()
                sent = sum(after[word] - before[word] for word in ("get_messages", "calls"))
                # Of fewer runs than these an owner is asked for each; there is one of all.
                assert sent <= (1 if named.size == count else 30) * (ranks() - 1)
                expected = model[named]
                same(np.asarray(gathered), expected)
                same(np.asarray(gathered.elements[gathered.positions]), expected)
                barrier()
    array.resize(count + 1)
    refused(gathered.update, "make another Gather")
    for array in arrays((3, 5), dtype):
        model = valued((3, 5), dtype, 2)
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        named = random.integers(-3, 3, 9), random.integers(-5, 5, 9)
        gathered = array.gather(named)
        gathered.update()
        same(np.asarray(gathered), model[named])
        barrier()


def wrong_dtypes():
    """They change nothing."""
    refused(lambda: BlockArray(3, "O"), "Python's objects stay in their process")
    refused(lambda: BlockArray(3, [("x", "f8"), ("o", "O")]), "Python's objects")
    refused(lambda: BlockArray(3, "S65"), "an element has 1 to 64")
    refused(lambda: BlockArray(3, "U17"), "an element has 1 to 64")
    refused(lambda: BlockArray(3, "V0"), "an element has 1 to 64")
    refused(lambda: BlockArray((2, 2, 2, 2), "S20"), "use fewer dimensions or an array for each field")
    refused(lambda: BlockArray((2, 2), "(2,2,2)f4"), "there are arrays of 1 to 4")
    wide = BlockArray((4, 4), "S20")
    refused(BlockArray((2, 3, 2), "S20").prefetch_transpose, "a matrix has two")
    refused(lambda: BlockArray(4, "S20").gather([4]), "index 4 of dimension 0", IndexError)
    refused(lambda: wide.assign(BlockArray((4, 4), "S21")), "same dtype")
    refused(lambda: wide.contribute((0, 0), b"x"), "numbers are combined")
    refused(lambda: wide[4, 0], "use one of these", IndexError)
    refused(lambda: wide.fetch_add((0, 0), b"x"), "numbers are combined")
    numbers = BlockArray(4, np.clongdouble)
    refused(lambda: numbers.accumulate(0, 1, op="prod"), "numbers are combined")
    numbers.accumulate([0, 3, 3], [1, 2j, 5])
    barrier()
    assert numbers[...].tolist() == [ranks(), 0, 0, (5 + 2j) * ranks()]
    barrier()
    if ranks() > 1:
        refused(lambda: wide.fill(b"a" if rank() == 0 else b"b"), "fill")
        refused(lambda: BlockArray(3, "S20" if rank() == 0 else "S21"), "")
        refused(lambda: BlockArray(3, [("a" if rank() == 0 else "b", "S20")]), "another dtype")
    assert (wide[...] == b"").all()
    barrier()


def of_rank_0(text):
    """Its text, in all ranks."""
    own = np.frombuffer(text.encode(), "u1") if rank() == 0 else None
    return bytes(from_numpy(own, root=0)[...]).decode()


def main(made):
    """All of it, in one program."""
    folder = Path(of_rank_0(made))
    for number, dtype in enumerate(DTYPES):
        for distance in (0, 4):  # each shape with six dtypes
            shape = SHAPES[(number + distance) % len(SHAPES)]
            reads_and_writes(shape, dtype)
            whole_arrays(shape, dtype)
        prefetched(((7,), (5, 4))[number % 2], dtype)
        gathers(dtype)
        in_files((5, 3), dtype, folder)
    with_numpy()
    fields()
    vectors()
    patterns()
    updates()
    wrong_dtypes()
    return rank()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        run_checks(main, [made])
