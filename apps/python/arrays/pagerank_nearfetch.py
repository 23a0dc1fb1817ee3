# SPDX-License-Identifier: Apache-2.0
"""PageRank, with a distributed sparse matrix."""

import numpy as np

from nearfetch import BlockArray, allreduce, barrier, from_scipy, rank


def solve(links, tolerance, damping=0.85):
    """The power method. Rank 0 gives the links by their target, of weights that add up to 1 for each source;
    it gets the rank of each page."""
    rows = from_scipy(links, root=0)
    x = BlockArray(rows.shape[0])
    x.fill(1 / x.size)
    elements = rows.gather(x)
    change = 1.0
    while change > tolerance:
        elements.update()
        new = damping * (rows @ elements) + (1 - damping) / x.size
        change = allreduce(np.abs(new - x.local).sum())
        x.local[...] = new
        barrier()
    return x[...] if rank() == 0 else None
