# SPDX-License-Identifier: Apache-2.0
"""A two-dimensional FFT by rows and columns, by hand: each rank has a block of rows."""

import numpy as np
from mpi4py import MPI


def solve(signal, times):
    """So many transforms of a square, each of which transposes it. Rank 0 gives it, and gets the result."""
    comm = MPI.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    order = comm.bcast(len(signal) if rank == 0 else None)
    borders = np.arange(ranks + 1) * order // ranks
    extents = np.diff(borders)
    own = extents[rank]
    counts = own * extents
    rows = np.empty((own, order), complex)
    comm.Scatterv([signal, extents * order], rows)
    sent, received = np.empty(own * order, complex), np.empty(own * order, complex)
    for _ in range(times):
        np.fft.fft(rows, out=rows)
        for first, end in zip(borders[:-1], borders[1:]):
            sent[own * first : own * end].reshape(-1, own)[...] = rows[:, first:end].T
        comm.Alltoallv([sent, counts], [received, counts])
        for first, end in zip(borders[:-1], borders[1:]):
            rows[:, first:end] = received[own * first : own * end].reshape(own, -1)
        np.fft.fft(rows, out=rows)
    result = np.empty((order, order), complex) if rank == 0 else None
    comm.Gatherv(rows, [result, extents * order])
    return result
