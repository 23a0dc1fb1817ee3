# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices in files of Matrix Market and of scipy: rank 0 reads and writes them, by scipy."""

from __future__ import annotations

import importlib
import os
from typing import Any

from nearfetch.agreement import together
from nearfetch.collectives import gather
from nearfetch.dense import collective
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.replacing import replace
from nearfetch.sparse import SparseMatrix
from nearfetch.sparse_moves import described, rows_from

__all__ = ["load_sparse", "save_sparse"]


def load_sparse(what: str, path: str, format: str) -> SparseMatrix:
    """Rank 0 reads the file, and sends each rank its rows. Collective."""
    read: list[Any] = []

    def read_it() -> str:
        if _native.rank() != 0:
            return ""
        matrix = _read(path, format)
        read.append(matrix)
        return described(matrix)

    text = together(what, read_it, "let rank 0 have the file, and read it")[0]
    return SparseMatrix(*rows_from(what, 0, read[0] if read else None, text))


def save_sparse(what: str, path: str, format: str, matrix: SparseMatrix) -> None:
    """Rank 0 gets all rows, and writes the file. Collective."""
    own = matrix.local
    with collective(what):
        triples = [gather(part, root=0) for part in (matrix._row_numbers(), own.indices, own.data)]

    def create(partial: str) -> None:
        sparse = _scipy("sparse")
        rows, columns, data = (np.concatenate(parts) for parts in triples)
        whole = sparse.coo_matrix((data, (rows, columns)), matrix.shape)
        with open(partial, "xb") as file:
            if format == "npz":
                sparse.save_npz(file, whole.tocsr())
            else:
                _scipy("io").mmwrite(file, whole)
            file.flush()
            os.fsync(file.fileno())

    replace(what, path, create)


def _read(path: str, format: str) -> Any:
    sparse = _scipy("sparse")
    if format == "npz":
        try:
            found = sparse.load_npz(path)
        except (KeyError, ValueError) as problem:
            raise Error(
                f"a sparse matrix in {path} ({problem}): give what scipy.sparse.save_npz wrote"
            ) from None
    else:
        found = sparse.csr_matrix(_scipy("io").mmread(path))
    rows = found.tocsr()
    rows.sum_duplicates()
    return rows


def _scipy(name: str) -> Any:
    try:
        return importlib.import_module(f"scipy.{name}")
    except ImportError as problem:
        raise Error(f"files of sparse matrices are not here ({problem}): pip install scipy") from None
