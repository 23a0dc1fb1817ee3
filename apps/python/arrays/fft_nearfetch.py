# SPDX-License-Identifier: Apache-2.0
"""A two-dimensional FFT by rows and columns, with distributed arrays."""

import numpy as np

from nearfetch import barrier, from_numpy, rank, ranks


def solve(signal, times):
    """So many transforms of a square, each of which transposes it. Rank 0 gives it, and gets the result."""
    a = from_numpy(signal, root=0, grid=(ranks(), 1))
    t = np.empty_like(a)
    for _ in range(times):
        np.fft.fft(a.local, out=a.local)
        t.assign(a, axes=(1, 0))
        np.fft.fft(t.local, out=t.local)
        a, t = t, a
    barrier()
    return a[...] if rank() == 0 else None
