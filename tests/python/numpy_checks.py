# SPDX-License-Identifier: Apache-2.0
"""Where arrays follow numpy's conventions, or report that they do not.

python numpy_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import operator
import sys

import numpy as np
from array_checks import refused

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
    array.local[...] = array.local_indices[0]
    barrier()
    for change in (operator.iadd, operator.imul, operator.ipow, operator.ior):
        for operand in (1, np.float64(1), array[...], array):
            refused(lambda: change(array, operand), "write a.local[...]")  # noqa: B023
    barrier()
    if rank() == 0:
        array[2] += 1
    barrier()
    assert list(array) == [1, 3, 3, 4, 5, 6, 7] and list(reversed(array)) == list(array)[::-1]
    other = BlockArray(7)
    for operand in (0, 1.5, np.float64(0), array[...], [1, 2], other):
        refused(lambda: array == operand, "compare what was read")  # noqa: B023
        refused(lambda: array != operand, "compare what was read")  # noqa: B023
    assert array == same_array and array != None and array not in (None, "x")  # noqa: E711
    assert {array: 1, other: 2}[array] == 1 and 3.0 in array and 2.0 not in array
    for numpys in (np.sum, np.mean, np.min, np.max):
        assert numpys(array) == numpys(array[...])
        refused(lambda: numpys(array, axis=0), "axis=0")  # noqa: B023
        refused(lambda: numpys(array, out=np.zeros(1)), "out=")  # noqa: B023
    refused(lambda: array.mean(dtype="f4"), "dtype='f4'")
    barrier()


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
    fills()
    own_indices()
    return rank()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ended()
    done = launch(main, ranks=int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print(f"passed {len(done)}")
