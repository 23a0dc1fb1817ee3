# SPDX-License-Identifier: Apache-2.0
"""Products of a sparse matrix and a vector on one rank: nearfetch's over scipy's, in turn, as JSON.

    python apps/python/arrays/spmv.py --rows 100000 --samples 9 --products 20

A line has the seconds of each sample, of so many products, for a matrix and a kind of vector.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Callable, Iterator

import inputs
import numpy as np
from scipy import sparse

from nearfetch import BlockArray, SparseMatrix, barrier, from_scipy, launch


def matrices(rows: int) -> Iterator[tuple[str, Any]]:
    """A stencil's, one of random columns, and the links of pages, each with about as many rows."""
    order = int(rows**0.5)
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(order, order))
    yield "stencil", sparse.csr_array(sparse.kronsum(line, line))
    columns = np.random.default_rng(4).integers(rows, size=16 * rows, dtype=np.int32)
    starts = np.arange(0, columns.size + 1, 16, dtype=np.int32)
    yield "random", sparse.csr_array((np.ones(columns.size), columns, starts), shape=(rows, rows))
    yield "links", inputs.links(rows)


def vectors(matrix: SparseMatrix, x: np.ndarray) -> Iterator[tuple[str, Any]]:
    """The kinds that `matrix @ x` takes."""
    yield "numpy", x
    array = BlockArray(x.size)
    array.local[...] = x
    barrier()
    yield "distributed", array
    gathered = matrix.gather(array)
    gathered.update()
    yield "gathered", gathered


def seconds(product: Callable[[], np.ndarray], times: int) -> float:
    """That so many products take."""
    begin = time.perf_counter()
    for _ in range(times):
        product()
    return time.perf_counter() - begin


def compare(options: argparse.Namespace) -> None:
    """Prints a line for each matrix and kind of vector."""
    for name, matrix in matrices(options.rows):
        matrix.sum_duplicates()
        # Scipy is quicker with indices of 32 bits, if it has them.
        parts = matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        compare_products(name, sparse.csr_array(parts, shape=matrix.shape), options)


def compare_products(name: str, theirs: Any, options: argparse.Namespace) -> None:
    """Of a matrix. The sides take turns, and every other time the second one begins."""
    ours = from_scipy(theirs)
    x = np.random.default_rng(5).standard_normal(theirs.shape[1])
    expected = theirs @ x
    for kind, vector in vectors(ours, x):
        assert np.allclose(ours @ vector, expected), f"{name}, {kind}: another product"
        sides = {"scipy": lambda: theirs @ x, "nearfetch": lambda vector=vector: ours @ vector}
        found: dict[str, list[float]] = {side: [] for side in sides}
        for sample in range(options.samples):
            for side in list(sides)[:: 1 if sample % 2 == 0 else -1]:
                found[side].append(seconds(sides[side], options.products))
        print(json.dumps({"matrix": name, "nnz": theirs.nnz, "vector": kind, **found}), flush=True)


def main() -> None:
    """Runs what the command line asks for, in one rank."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--products", type=int, default=20, help="of a sample")
    launch(compare, args=[parser.parse_args()], mpi=False)


if __name__ == "__main__":
    main()
