# SPDX-License-Identifier: Apache-2.0
"""A two-dimensional FFT by rows and columns, with dask: two chunks of rows, then of columns."""

import dask.array as da


def solve(signal, times):
    """So many transforms of a square, each of which transposes it."""
    half = -(-len(signal) // 2)
    a = da.from_array(signal, chunks=(half, -1))
    for _ in range(times):
        a = da.fft.fft(da.fft.fft(a).rechunk((-1, half)).T)
    return a.compute()
