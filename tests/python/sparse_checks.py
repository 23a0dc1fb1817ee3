# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices against dictionaries of all their elements.

python sparse_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import types

import numpy as np
from array_checks import refused, same
from checks import run_checks

import nearfetch
from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CyclicArray,
    SparseMatrix,
    barrier,
    rank,
    ranks,
    sparse_products,
    statistics,
)

SHAPES = ((1, 13), (13, 1), (3, 8), (20, 17), (0, 5), (5, 0))
DTYPES = ("f8", "i4", "c16", "i1", "f4", "?")


def random_model(shape, dtype, random):
    """About a third of all elements; the same on all ranks."""
    chosen = [index for index in np.ndindex(*shape) if random.integers(3) == 0]
    return {index: np.array(random.integers(1, 100), dtype)[()] for index in chosen}


def own_part(model, shape, backwards=False):
    """(data, indices, indptr) of this rank's rows; columns in any order."""
    data, indices, indptr = [], [], [0]
    for row in SparseMatrix.rows_of(shape[0]):
        columns = sorted((j for i, j in model if i == row), reverse=backwards)
        data += [model[row, j] for j in columns]
        indices += columns
        indptr.append(len(indices))
    return data, np.array(indices, "i4"), np.array(indptr, "u4")


def made(model, shape, dtype, backwards=False):
    """A matrix of these elements."""
    return SparseMatrix(shape, own_part(model, shape, backwards), dtype)


def check_all(matrix, model):
    """Checks every element, one by one and together, and this rank's own."""
    everywhere = list(np.ndindex(*matrix.shape))
    zero = np.zeros((), matrix.dtype)[()]
    assert matrix.nnz == len(model)
    for index in everywhere:
        assert matrix.contains(index) == (index in model)
        assert matrix[index] == model.get(index, zero) and matrix[index].dtype == matrix.dtype
    rows, columns = [i for i, _ in everywhere], [j for _, j in everywhere]
    same(
        matrix.take((rows, columns)), np.array([model.get(index, zero) for index in everywhere], matrix.dtype)
    )
    data, indices, indptr = own_part(model, matrix.shape)
    same(matrix.local.data, np.array(data, matrix.dtype))
    same(matrix.local.indices, indices.astype("i8"))
    same(matrix.local.indptr, indptr.astype("i8"))
    for row in matrix.own_rows:
        columns, own = matrix.row(row)
        assert {(row, j): x for j, x in zip(columns, own)} == {i: x for i, x in model.items() if i[0] == row}


def elements(shape, dtype):
    """From every rank; writes are visible to the others."""
    random = np.random.default_rng(7)
    model = random_model(shape, dtype, random)
    matrix = made(model, shape, dtype, backwards=True)
    assert (matrix.shape, matrix.dtype, matrix.ndim) == (shape, np.dtype(dtype), 2)
    assert matrix.local_shape == (len(matrix.own_rows), shape[1])
    check_all(matrix, model)
    assert matrix.sum() == np.array(list(model.values()), dtype).sum()
    barrier()
    for number, index in enumerate(sorted(model)):
        model[index] = np.array(number % 50, dtype)[()]
        if number % ranks() == rank():
            matrix[index] = number % 50
    barrier()
    check_all(matrix, model)
    barrier()
    matrix.local.data[...] = 3
    barrier()
    check_all(matrix, {index: np.array(3, dtype)[()] for index in model})
    barrier()


def rearranged(shape, dtype):
    """Transposed, dense, and slices of rows."""
    model = random_model(shape, dtype, np.random.default_rng(3))
    matrix = made(model, shape, dtype)
    turned = matrix.T
    assert (turned.shape, turned.dtype) == (shape[::-1], matrix.dtype)
    check_all(turned, {(j, i): value for (i, j), value in model.items()})
    dense = np.zeros(shape, dtype)
    for index, value in model.items():
        dense[index] = value
    array = matrix.toarray()
    same(array, dense)
    assert array.local.shape == matrix.local_shape
    for key in (
        slice(None),
        slice(1, 9),
        slice(None, None, -2),
        slice(-3, None, 2),
        slice(4, 4),
        (slice(2), slice(None)),
    ):
        wanted = range(shape[0])[key[0] if isinstance(key, tuple) else key]
        chosen = matrix[key[0], :] if isinstance(key, tuple) else matrix[key]
        rows = {row: at for at, row in enumerate(wanted)}
        assert chosen.shape == (len(wanted), shape[1])
        check_all(chosen, {(rows[i], j): value for (i, j), value in model.items() if i in rows})
    check_all(matrix, model)
    barrier()


def products(shape, dtype):
    """By scipy, if it is there, and by numpy."""
    by_scipy = sparse_products._scipys_csr_array
    for found in (by_scipy, lambda: None, by_scipy):
        barrier()
        sparse_products._scipys_csr_array = found
        barrier()
        products_with(shape, dtype)


def products_with(shape, dtype):
    """Distributed, gathered and numpy vectors, and rows without non-zeros."""
    random = np.random.default_rng(5)
    model = random_model(shape, dtype, random)
    model = {index: value for index, value in model.items() if index[0] % 4 != 1}
    matrix = made(model, shape, dtype)
    dense = np.zeros(shape, dtype)
    for index, value in model.items():
        dense[index] = value
    vector = random.integers(0, 9, shape[1]).astype("f4")
    expected = (dense @ vector)[matrix.own_rows.start : matrix.own_rows.stop]
    same(matrix @ vector, expected)
    needed = set(matrix.local.indices.tolist())
    for make in (BlockArray, CyclicArray, lambda *words: BlockCyclicArray(*words, block=2)):
        x = make(shape[1], "f4")
        x.local[...] = vector[x.local_indices[0]]
        barrier()
        x.observe()
        same(matrix.dot(x), expected)
        assert x.observed()["elements"] == len(needed - set(x.local_indices[0].tolist()))
        x.prefetch_observed(consistent=False)
        before = statistics()["get_messages"]
        same(matrix @ x, expected)
        assert statistics()["get_messages"] == before
        barrier()
        x.evict_prefetch()
        gathered = matrix.gather(x)
        for factor in (1, 2):
            x.local[...] = factor * vector[x.local_indices[0]]
            barrier()
            gathered.update()
            before = statistics()["get_messages"]
            same(matrix @ gathered, factor * expected)
            assert statistics()["get_messages"] == before
            barrier()
    matrix.local.data[...] += matrix.local.data
    total = dense + dense
    for factor in (x, vector, x, gathered):
        gathered.update()
        after = total @ (vector if factor is vector else np.asarray(x[...]))
        same(matrix @ factor, after[matrix.own_rows.start : matrix.own_rows.stop])
    barrier()
    first = matrix.own_rows[:1]
    if shape[1] > 0:
        matrix.add((list(first), [0] * len(first)))
        same(matrix @ vector, (total @ vector)[matrix.own_rows.start : matrix.own_rows.stop])
        same(matrix @ x, (total @ x[...])[matrix.own_rows.start : matrix.own_rows.stop])
    halves = vector.astype("f2")
    assert (made({}, shape, "f2") @ halves).dtype == np.dtype("f2")
    barrier()


def patterns(shape):
    """Prefetched elements are read without a GET, zeros too."""
    model = random_model(shape, "i8", np.random.default_rng(9))
    matrix = made(model, shape, "i8")
    rows, columns = shape
    table = [[(r % max(1, rows), slice(None)), np.s_[1:3, : columns // 2], (99, 0)] for r in range(ranks())]
    boxes = {(rank() % max(1, rows), j) for j in range(columns)}
    boxes |= {(i, j) for i in (1, 2) for j in range(columns // 2)}
    everything = set(np.ndindex(*shape))
    whole = {(i, j) for i in (0, 2, 3) for j in range(columns)}
    for how in ({"consistent": True}, {"consistent": False}, {"consistent": False, "static_domain": True}):
        for wanted, ask in (
            (everything, lambda how=how: matrix.prefetch_all_to_all(**how)),
            (boxes, lambda how=how: matrix.prefetch_custom(table, **how)),
            (whole, lambda how=how: matrix.prefetch_rows([[0, slice(2, 4), 99]] * ranks(), **how)),
        ):
            with ask() as phase:
                others = [i for i in wanted & everything if matrix.owner(i) != rank()]
                assert all(matrix.is_prefetched(index) for index in others)
                phase.update()
                before = statistics()["get_messages"]
                assert [matrix[index] for index in others] == [model.get(index, 0) for index in others]
                assert statistics()["get_messages"] == before
                if others:
                    assert (matrix.take(tuple(np.array(others).T)) == [model.get(i, 0) for i in others]).all()
            assert not any(matrix.is_prefetched(index) for index in others)
            barrier()


def added():
    """New indices are zero, old values stay, and patterns follow."""
    shape = (9, 6)
    random = np.random.default_rng(13)
    model = random_model(shape, "f8", random)
    matrix = made(model, shape, "f8")
    matrix.prefetch_rows([[0, 4, 8]] * ranks(), consistent=False)
    for _ in range(4):
        new = [(int(random.integers(9)), int(random.integers(6))) for _ in range(8)]
        own = [index for index in new if index[0] in matrix.own_rows]
        matrix.add(([i for i, _ in own], [j for _, j in own]))
        model.update({index: 0.0 for index in new if index not in model})
        check_all(matrix, model)
        for index in np.ndindex(*shape):
            if index[0] in (0, 4, 8) and index[0] not in matrix.own_rows:
                assert matrix.is_prefetched(index)
        barrier()
        model = {index: index[0] + index[1] / 8 for index in model}
        for row in matrix.own_rows:
            columns, own = matrix.row(row)
            own[...] = row + columns / 8
        del columns, own
        barrier()
        with matrix.update_prefetch_async():
            pass
        check_all(matrix, model)
    view = matrix.local.indices if rank() == 0 else None
    refused(lambda: matrix.add(([], [])), "rank 0 still has a view of its part")
    del view
    matrix.evict_prefetch()
    with matrix.prefetch_all_to_all(static_domain=True):
        refused(lambda: matrix.add(([], [])), "static_domain")
    check_all(matrix, model)
    barrier()


def wrong_matrices():
    """Invalid own rows are reported before any rank waits."""
    own = SparseMatrix.rows_of(4 * ranks())
    shape = (4 * ranks(), 6)
    data, indices, indptr = [1.0, 2.0, 3.0], [0, 5, 2], [0, 1, 1, 2, 3]
    first = own.start
    for part, words, kind in (
        ((data, indices, [0, 2, 1, 2, 3]), f"row {first + 1} ends before it begins", nearfetch.Error),
        ((data, indices, [0, 1, 1, 3]), "give one more than own rows", nearfetch.Error),
        ((data, indices, [1, 1, 1, 2, 3]), "from 0", nearfetch.Error),
        ((data, indices, [0, 1, 1, 2, 4]), "3 non-zeros", nearfetch.Error),
        ((data, indices, [0.0, 1, 1, 2, 3]), "indptr of float64", nearfetch.Error),
        ((data, indices, [[0, 1, 1, 2, 3]]), "2 dimensions", nearfetch.Error),
        ((data, [0, 6, 2], indptr), f"column 6 in row {first + 2}", IndexError),
        ((data, [0, 5, -1], indptr), f"column -1 in row {first + 3}", IndexError),
        ((data, [0, 5], indptr), "give as many", nearfetch.Error),
        ((data, [0.0, 5.0, 2.0], indptr), "indices of float64", nearfetch.Error),
        ((data, np.array([0, 2**63, 2], "u8"), indptr), "62 bits", nearfetch.Error),
        (([data], indices, indptr), "data of shape (1, 3)", nearfetch.Error),
        ((["abc", "d", "e"], indices, indptr), "1, 2, 4, 8 and 16", nearfetch.Error),
        (([None] * 3, indices, indptr), "Python's objects", nearfetch.Error),
        ((data, indices), "three arrays", nearfetch.Error),
        (7, "of a int", nearfetch.Error),
        (np.zeros((4, 6)), "of a ndarray", nearfetch.Error),
        (np.zeros((4, 5)), "own rows of shape (4, 5)", nearfetch.Error),
    ):
        refused(lambda part=part: SparseMatrix(shape, part), words, kind)
    refused(lambda: SparseMatrix((3,)), "rows and columns")
    refused(lambda: SparseMatrix((3, -1)), "of -1 columns")
    refused(lambda: SparseMatrix((2.5, 1)), "of 2.5 rows")
    refused(lambda: SparseMatrix.rows_of(3, ranks()), "use one of these")
    refused(lambda: SparseMatrix(shape, ([1, 2], [3, 3], [0, 2, 2, 2, 2])), "is there twice")


def wrong_uses():
    """Invalid uses of an existing matrix."""
    matrix = SparseMatrix((4, 6), dtype="i4")
    for key in ((4, 0), (0, 6), (-5, 0)):
        refused(lambda key=key: matrix[key], "use one of these", IndexError)
    for key in (0, (0, slice(None)), (slice(None), slice(2)), (0, 0, 0), [0, 0]):
        refused(lambda key=key: matrix[key], "two whole numbers", IndexError)
    refused(lambda: matrix.__setitem__((0, 0), 1), "add() it first")
    refused(lambda: matrix.row(99), "take() single elements")
    refused(lambda: matrix.add(([9], [0])), "index 9 of dimension 0", IndexError)
    refused(lambda: matrix.take(0), "an array for each", IndexError)
    refused(lambda: matrix.prefetch_rows([[]] * (ranks() + 1)), "row")
    refused(matrix.update_prefetch, "pattern")
    refused(lambda: matrix @ np.zeros(5), "vector of shape (5,)")
    refused(lambda: matrix @ BlockArray(5), "vector of as many")
    refused(lambda: matrix.gather(BlockArray(5)), "vector of as many")
    refused(lambda: matrix.gather(np.zeros(6)), "give a distributed array")
    refused(lambda: matrix @ BlockArray(6).gather([0, 1]), "a Gather of shape (2,)")
    barrier()


def no_list():
    """Python does not iterate by numbers from 0."""
    matrix = SparseMatrix((3, 3))
    for attempt in (list, iter, lambda matrix: 0.0 in matrix, lambda matrix: [*matrix]):
        try:
            attempt(matrix)
        except TypeError:
            continue
        raise AssertionError("not refused")
    refused(lambda: matrix == 0, "compare what was read")
    refused(lambda: np.sum(matrix, axis=1), "axis=1")
    assert matrix == matrix and {matrix: 1}[matrix] == 1 and np.sum(matrix) == 0
    barrier()


def other_libraries():
    """Objects like scipy's matrices are accepted; others than CSR are asked to convert."""
    own = SparseMatrix.rows_of(5)
    count = len(own)
    rows = types.SimpleNamespace(
        data=np.ones(count, "f4"), indices=np.arange(count), indptr=np.arange(count + 1), shape=(count, 8)
    )
    matrix = SparseMatrix((5, 8), types.SimpleNamespace(tocsr=lambda: rows, data=None))
    assert matrix.nnz == 5 and matrix.dtype == np.dtype("f4") and (matrix.local.data == 1).all()
    again = SparseMatrix((5, 8), matrix.local)
    assert again.nnz == 5 and again[4, again.take((4, range(8))).argmax()] == 1
    barrier()


def main():
    """All of it, in one program."""
    for number, shape in enumerate(SHAPES):
        elements(shape, DTYPES[number])
        products(shape, DTYPES[number] if number != 5 else "f8")
        patterns(shape)
        rearranged(shape, DTYPES[number])
    added()
    wrong_matrices()
    wrong_uses()
    no_list()
    other_libraries()
    return rank()


if __name__ == "__main__":
    run_checks(main)
