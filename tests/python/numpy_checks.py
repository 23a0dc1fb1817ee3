# SPDX-License-Identifier: Apache-2.0
"""Where arrays follow numpy's conventions, or report that they do not.

python numpy_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import operator
import sys

import numpy as np
from array_checks import refused
from checks import run_checks

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, launch, rank, ranks


def records():
    """A value of a structured dtype does not change after it was read."""
    array = BlockArray(3, [("x", "f8"), ("n", "i4"), ("tag", "S4")])
    if rank() == 0:
        for i in range(3):
            array[i] = (i, i, b"ab")
    barrier()
    first, last = array[0], array[2]
    assert first.item() == (0.0, 0, b"ab") and last.item() == (2.0, 2, b"ab")
    assert [row["n"] for row in list(array)] == [0, 1, 2]
    barrier()
    if rank() == 0:
        array[0], array[2] = array[2], array[0]
    barrier()
    assert first["n"] == 0 and array[...]["n"].tolist() == [2, 1, 0]
    barrier()


def byte_orders():
    """Reductions of foreign byte orders, and of ranks without elements."""
    for dtype in (">i4", ">f8", ">M8[s]", "<i2"):
        array = BlockArray(1, dtype)
        array.fill(5)
        expected = np.array([5], dtype)
        assert (array.min(), array.max()) == (expected.min(), expected.max())
        if array.dtype.kind != "M":
            assert array.sum() == 5 and array.mean() == 5
    barrier()


def means():
    """Means equal numpy's, also if a sum in the dtype would overflow."""
    for dtype, value in (("i8", 2**62), ("u1", 255), ("?", True), ("f2", 1), (">f2", 3), ("f4", 0.1)):
        array = BlockArray(5000, dtype)
        array.fill(value)
        expected = np.full(5000, value, dtype).mean()
        mean = array.mean()
        assert mean.dtype == expected.dtype and np.isclose(mean, expected), (dtype, mean, expected)
    assert array.size == 5000 and np.isclose(BlockArray(3, "m8[s]").mean() / np.timedelta64(1, "s"), 0)
    barrier()


def idioms():
    """numpy's idioms work, or are refused."""
    array = same_array = BlockArray(bounds=[(1, 8)])
    array += np.arange(1, 8)
    barrier()
    if rank() == 0:
        array[2] += 1
    barrier()
    assert list(array) == [1, 3, 3, 4, 5, 6, 7] and list(reversed(array)) == list(array)[::-1]
    assert 3.0 in array and 2.0 not in array
    other = BlockArray(7)
    # A dictionary compares by identity first, and what is no element is equal to no array.
    assert {array: 1, other: 2}[same_array] == 1
    assert array != None and array != "x" and array not in (None, "x")  # noqa: E711
    compared = array == list(array)
    assert type(compared) is BlockArray and compared.dtype == bool and compared.bounds == array.bounds
    assert compared.all() and (array == same_array).sum() == 7 and not (array != array).any()
    for numpys in (np.sum, np.mean, np.min, np.max, np.any, np.std):
        assert np.isclose(numpys(array), numpys(array[...]))
        refused(lambda: numpys(array, out=np.zeros(1)), "give a numpy array of shape ()")  # noqa: B023
    assert array.mean(dtype="f4").dtype == "f4"
    assert bool(BlockArray(1) == 0) and not BlockArray(bounds=[(5, 6)])
    for ambiguous in (array, BlockArray(0)):
        try:
            bool(ambiguous)
        except ValueError as problem:
            assert "a.any()" in str(problem)
        else:
            raise AssertionError("an array was true")
    barrier()


def layouts():
    """New arrays have the layout of an operand, and are complete; writes are seen after a barrier."""
    for array in (
        BlockArray((9, 4), int, grid=(1, ranks())),
        CyclicArray((9, 4), int),
        BlockCyclicArray((9, 4), int, block=(2, 3)),
        BlockArray(bounds=[(-4, 5), (1, 5)], dtype=int),
    ):
        array += np.arange(36).reshape(9, 4)
        barrier()
        for new in (array * 2, 1 - array, np.where(array > 4, array, 0), array.astype("f4"), array.copy()):
            assert type(new) is type(array)
            assert (new.bounds, new.grid, new._layout) == (array.bounds, array.grid, array._layout)
            new[...]  # complete, without a barrier
        assert ((array * 2)[...] == 2 * array[...]).all()
        rows, columns = array.max(axis=1), array.min(axis=0, keepdims=True)
        assert type(rows) is type(columns) is type(array)
        assert rows.bounds == array.bounds[:1] and rows.grid == (ranks(),)
        assert columns.bounds == ((0, 1), array.bounds[1]) and columns.grid == (1, ranks())
        assert rows[...].tolist() == [4 * i + 3 for i in range(9)] and columns[...].tolist() == [[0, 1, 2, 3]]
        turned = array.T
        assert type(turned) is type(array) and turned.bounds == array.bounds[::-1]
        assert turned.grid == array.grid[::-1] and (turned[...] == array[...].T).all()
        assert array.argmax() == 35 and array.argmax(axis=0)[...].tolist() == [8] * 4
        everything = array.sum(keepdims=True)
        assert type(everything) is np.ndarray and everything.tolist() == [[630]]
        assert (array / everything)[array.bounds[0][1] - 1, array.bounds[1][1] - 1] == 35 / 630
        barrier()
    assert type(BlockArray((4, 5)) @ CyclicArray((5, 3))) is BlockArray
    assert type(CyclicArray((4, 5)) @ BlockArray((5, 3))) is CyclicArray


def operands_that_do_not_fit():
    """They are refused, and nothing is changed."""
    array, other = BlockArray((4, 5), "i4"), BlockArray(bounds=[(1, 5), (0, 5)])
    array.fill(3)
    for call, words in (
        (lambda: array + other, "use arrays of the same bounds"),
        (lambda: array @ array, "the indices that are added over differ"),
        (lambda: np.add(array, 1, out=BlockArray((2, 4, 5))), None),
        (lambda: np.add(array, array, out=np.zeros((4, 5))), "give a distributed array"),
        (lambda: np.add(array, np.ones((3, 4, 5))), "no distributed one has the result's shape, (3, 4, 5)"),
        (lambda: array.sum(axis=2), "axis 2 (the array has 2 dimensions): use 0 to 1"),
        (lambda: array.sum(axis=(0, -2)), "twice"),
        (lambda: array.T.transpose(0, 0), "each dimension is there once"),
        (lambda: np.zeros_like(array, shape=(2, 2)), "make an array"),
        (lambda: np.full_like(array, other), "distributed value"),
        (lambda: np.sum(array, where=other > 0), "use arrays of the same bounds"),
        (lambda: np.sum(array, where=np.ones((2, 4, 5), bool)), "can be broadcast to it"),
        (lambda: array.astype("S65"), "1 to 64"),
        (lambda: array + object(), "objects"),
        (lambda: np.diff(array, prepend=0), "unexpected keyword argument 'prepend'"),
        (lambda: array @ BlockArray((5, 2, 2)), "vectors and matrices"),
        (lambda: np.matmul(array, 3), "vectors and matrices"),
        (lambda: np.outer(array, 3), "they are vectors"),
        (lambda: BlockArray((0, 3)).min(axis=0), "without elements"),
    ):
        if words is None:
            assert (call()[...] == 4).all()  # `out` may have more dimensions, as in numpy
        else:
            refused(call, words)
    for call, kind in ((lambda: operator.iadd(array, 0.5), TypeError), (lambda: array + [1, 2], ValueError)):
        try:
            call()
        except kind:
            continue
        raise AssertionError(f"no {kind}")
    assert (array[...] == 3).all()
    barrier()


def foreign():
    """Other types with numpy's protocols decide themselves; sparse matrices and masks are refused."""

    class Theirs:
        def __array_ufunc__(self, *arguments, **more):
            return "theirs"

    array, matrix = BlockArray(4), nearfetch.SparseMatrix((4, 4))
    assert array + Theirs() == Theirs() + array == np.add(Theirs(), array) == "theirs"
    for call in (
        lambda: array + matrix,
        lambda: np.add(matrix, 1),
        lambda: np.std(matrix),
        lambda: np.zeros_like(matrix),
        lambda: np.ones(4) @ matrix,
        lambda: array @ matrix,
        lambda: array + np.ma.masked_array([1, 2, 3, 4], [0, 0, 0, 1]),
    ):
        refused(call, "): use ")
    assert (np.sum(matrix), np.shape(matrix), np.ndim(matrix)) == (0, (4, 4), 2)
    barrier()


def extremes():
    """NaN is the extreme as in numpy, and ties go to the first, also over ranks without elements."""
    for values in ([1.0, 5.0, 5.0, 0.0, 0.0], [2.0, np.nan, 1.0, np.nan, 3.0], [np.nan] * 5, [4.0]):
        model = np.array(values)
        for array in (BlockArray(len(values)), CyclicArray(len(values))):
            array += model
            for name in ("min", "max", "argmin", "argmax", "sum", "var"):
                seen, expected = getattr(array, name)(), getattr(model, name)()
                assert np.array_equal(seen, expected, equal_nan=True) or np.isclose(seen, expected), name
            assert np.nansum(array) == np.nansum(model)
            assert np.array_equal(np.nanmin(array), np.fmin.reduce(model), equal_nan=True)
        barrier()
    matrix = BlockArray((2, 3))
    matrix += [[1, np.nan, 3], [1, 2, np.nan]]
    assert matrix.argmin(axis=1)[...].tolist() == [1, 2] and matrix.argmax(axis=0)[...].tolist() == [0, 0, 1]
    large = BlockArray(1000, "f4")
    large += 1e4
    assert large.var() == 0 and large.std().dtype == "f4"


def printed():
    """A representation has the own elements, and communicates nothing."""
    array = BlockArray((2 * ranks(), 2), "i2", grid=(ranks(), 1))
    array += rank()
    large = BlockArray(10**6)
    before = nearfetch.statistics()["get_messages"]
    assert (
        repr(array)
        == np.array_repr(array)
        == str(array)
        == (
            f"BlockArray(shape=({2 * ranks()}, 2), dtype=int16, grid=({ranks()}, 1),\n"
            f"    local=[[{rank()} {rank()}]\n           [{rank()} {rank()}]])"
        )
    )
    assert "..." in repr(large) and len(repr(large)) < 200
    assert nearfetch.statistics()["get_messages"] == before


def ended():
    """Objects of an ended program can be printed."""
    left = launch(lambda: (CyclicArray(3), nearfetch.SparseMatrix((2, 2))), ranks=2, mpi=False)[0]
    assert repr(left[0]) == "CyclicArray(shape=(3,), dtype=float64)"
    assert repr(left[1]) == "SparseMatrix(shape=(2, 2), dtype=float64)"


def fills():
    """All ranks give the same value; padding bytes may differ."""
    for dtype in (np.dtype([("x", "f8"), ("n", "i2")], align=True), np.dtype("g"), np.dtype([("n", "i4")])):
        array = BlockArray(3, dtype)
        value = np.frombuffer(bytes([rank()]) * dtype.itemsize, dtype).copy()
        if dtype.names:
            for name in dtype.names:
                value[name] = 3
        else:
            value[...] = 3
        array.fill(value[0])
        assert array[2].item() == (value[0].item() if dtype.names else 3)
    array = BlockArray(3, "f4")
    if ranks() > 1:
        refused(lambda: array.fill(rank()), "in fill at ")
    array.fill(1.5)
    assert array.sum() == 4.5
    barrier()


def own_indices():
    """Own indices are those that the rank owns, in all distributions."""
    lower, upper = (-3, 2), (10, 7)
    for distribution, block in (
        (BlockArray, 0),
        (CyclicArray, 0),
        (BlockCyclicArray, 3),
        (BlockCyclicArray, 40),
    ):
        more = {"block": (block, 2)} if block else {}
        array = distribution(bounds=list(zip(lower, upper)), **more)
        for _ in range(2):
            rows, columns = array.local_indices
            assert rows.dtype == columns.dtype == np.int64 and array.local.shape == (len(rows), len(columns))
            assert all(array.owner((i, j)) == rank() for i in rows for j in columns)
            assert np.all(np.diff(rows) > 0) and np.all(np.diff(columns) > 0)
            array.resize(bounds=[(-1, 4), (0, 9)])
    assert CyclicArray(0).local_indices[0].size == 0
    barrier()


def main():
    """All of it, in one program."""
    records()
    byte_orders()
    means()
    idioms()
    layouts()
    operands_that_do_not_fit()
    foreign()
    extremes()
    printed()
    fills()
    own_indices()
    return rank()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ended()
    run_checks(main)
