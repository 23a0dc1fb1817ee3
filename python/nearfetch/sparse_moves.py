# SPDX-License-Identifier: Apache-2.0
"""Non-zeros of sparse matrices on their way to other ranks."""

from __future__ import annotations

from typing import Any, Sequence

from nearfetch.arrays import BlockArray
from nearfetch.elements import bytes_of
from nearfetch.literals import read_literal
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["described", "rows_from", "rows_to_owners"]


def moved(what: str, values: Sequence[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
    """Sends elements to other ranks; returns what this rank gets, in the order of the senders. Collective.

    `values`: vectors of one length, first what rank 0 gets, then rank 1, ... `counts`: how many each gets.
    The results are views of memory that others have written to.
    """
    ranks, rank = _native.ranks(), _native.rank()
    everyone = np.empty((ranks, ranks), np.int64)
    _native.gather(what, bytes_of(np.ascontiguousarray(counts, np.int64)), bytes_of(everyone))
    received = everyone.sum(axis=0)
    before = everyone[:rank].sum(axis=0)
    results = []
    for vector in values:
        staging = BlockArray((ranks, int(received.max())), vector.dtype, grid=(ranks, 1))
        begin = 0
        for receiver, (first, count) in enumerate(zip(before.tolist(), everyone[rank].tolist())):
            if count:
                staging[receiver, first : first + count] = vector[begin : begin + count]
                begin += count
        _native.barrier()
        results.append(staging.local.reshape(-1)[: received[rank]])
    return results


def rows_to_owners(
    what: str, extent: int, rows: np.ndarray, columns: np.ndarray, data: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """This rank's rows, as (data, indices, indptr), of a matrix with `extent` rows. Collective.

    Each rank gives non-zeros of any rows.
    """
    starts = [_native.rows_of(rank, extent)[0] for rank in range(_native.ranks())]
    order = np.argsort(rows, kind="stable")
    ends = np.append(np.searchsorted(rows[order], starts)[1:], len(rows))
    counts = np.diff(ends, prepend=0)
    rows, columns, data = moved(what, [one[order] for one in (rows, columns, data)], counts)
    order = np.lexsort((columns, rows))
    first, end = _native.rows_of(_native.rank(), extent)
    return data[order], columns[order], np.searchsorted(rows[order], np.arange(first, end + 1))


def described(matrix: Any) -> str:
    """What all ranks have to know of a CSR matrix of scipy for rows_from()."""
    return repr((matrix.shape, matrix.dtype.str, matrix.indices.dtype.str))


def rows_from(
    what: str, root: int, matrix: Any, text: str
) -> tuple[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray], np.dtype]:
    """A SparseMatrix's shape, this rank's rows of it as (data, indices, indptr), and its dtype. Collective.

    Rank `root` gives all rows, as a CSR matrix of scipy, and others None. `text`: it as described().
    """
    shape, *texts = read_literal(text)
    dtype, numbers = (np.dtype(each) for each in texts)
    borders = np.array([_native.rows_of(rank, shape[0])[0] for rank in range(_native.ranks())] + [shape[0]])
    if _native.rank() == root:
        indptr, indices, data = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    else:
        borders = np.zeros_like(borders)
        indptr, indices, data = np.zeros(1, np.int64), np.empty(0, numbers), np.empty(0, dtype)
    (lengths,) = moved(what, [np.diff(indptr)], np.diff(borders))
    indices, data = moved(what, [indices, data], np.diff(indptr[borders]))
    return shape, (data, indices, np.append(0, np.cumsum(lengths))), dtype
