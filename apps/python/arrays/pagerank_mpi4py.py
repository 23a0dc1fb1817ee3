# SPDX-License-Identifier: Apache-2.0
"""PageRank, by hand: each rank has a block of rows, and gets of the others what these rows need."""

import numpy as np
from mpi4py import MPI
from scipy.sparse import csr_array


def solve(links, tolerance, damping=0.85):
    """The power method. Rank 0 gives the links by their target, of weights that add up to 1 for each source;
    it gets the rank of each page."""
    comm = MPI.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    pages = comm.bcast(links.shape[0] if rank == 0 else None)
    borders = np.arange(ranks + 1) * pages // ranks
    blocks = [links[first:end] for first, end in zip(borders[:-1], borders[1:])] if rank == 0 else None
    rows = comm.scatter(blocks)
    # Which elements the rows need, and which of the own ones others need.
    columns, positions = np.unique(rows.indices, return_inverse=True)
    needed = np.diff(np.searchsorted(columns, borders))
    asked = np.empty_like(needed)
    comm.Alltoall(needed, asked)
    wanted = np.empty(asked.sum(), columns.dtype)
    comm.Alltoallv([columns, needed], [wanted, asked])
    wanted -= borders[rank]
    rows = csr_array(
        (rows.data, positions.astype(np.int32), rows.indptr), shape=(rows.shape[0], columns.size)
    )
    x = np.full(rows.shape[0], 1 / pages)
    elements = np.empty(columns.size)
    change = 1.0
    while change > tolerance:
        comm.Alltoallv([x[wanted], asked], [elements, needed])
        new = damping * (rows @ elements) + (1 - damping) / pages
        change = comm.allreduce(np.abs(new - x).sum())
        x = new
    result = np.empty(pages) if rank == 0 else None
    comm.Gatherv(x, [result, np.diff(borders)])
    return result
