# SPDX-License-Identifier: Apache-2.0
"""Heat on a plate, with dask: a graph of all steps, over two chunks of rows."""

import dask.array as da


def relax(u):
    """A step for a chunk with a row of each neighbour; its outermost rows and columns stay."""
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return new


def solve(plate, steps):
    """Jacobi's iteration; the edges stay."""
    u = da.from_array(plate, chunks=(-(-len(plate) // 2), -1))
    for _ in range(steps):
        u = da.map_overlap(relax, u, depth={0: 1, 1: 0}, boundary="none", dtype=u.dtype)
    return u.compute()
