# SPDX-License-Identifier: Apache-2.0
"""Non-zeros of sparse matrices on their way to other ranks."""

from __future__ import annotations

from typing import Any, Sequence

from nearfetch.arrays import BlockArray
from nearfetch.elements import bytes_of
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["moved", "rows_from", "rows_to_owners"]


def moved(what: str, values: Sequence[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
    """Sends elements to other ranks; returns what this rank gets, in the order of the senders. Collective.

    `values`: vectors of one length, first what rank 0 gets, then rank 1, ... `counts`: how many each gets.
    """
    ranks, rank = _native.ranks(), _native.rank()
    everyone = np.empty((ranks, ranks), np.int64)
    _native.gather(what, bytes_of(np.ascontiguousarray(counts, np.int64)), bytes_of(everyone))
    # In a staging array the elements of a receiver stand together, those of one sender after another's.
    ends = np.cumsum(everyone.T).reshape(ranks, ranks)
    got = ends[rank, 0] - everyone[0, rank], ends[rank, -1]
    results = []
    for vector in values:
        staging = BlockArray(int(ends[-1, -1]), vector.dtype)
        begin = 0
        for end, count in zip(ends[:, rank].tolist(), everyone[rank].tolist()):
            if count:
                staging[end - count : end] = vector[begin : begin + count]
                begin += count
        _native.barrier()
        results.append(staging[int(got[0]) : int(got[1])])
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


def rows_from(
    what: str, root: int, matrix: Any, extent: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """This rank's rows, as (data, indices, indptr), of a matrix with `extent` rows. Collective.

    Rank `root` gives all rows, as a CSR matrix of scipy; what others give does not matter.
    """
    borders = np.array([_native.rows_of(rank, extent)[0] for rank in range(_native.ranks())] + [extent])
    if _native.rank() == root:
        indptr, indices, data = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
    else:
        borders = np.zeros_like(borders)
        indptr, indices, data = np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, dtype)
    (lengths,) = moved(what, [np.diff(indptr)], np.diff(borders))
    indices, data = moved(what, [indices, data], np.diff(indptr[borders]))
    return data, indices, np.append(0, np.cumsum(lengths))
