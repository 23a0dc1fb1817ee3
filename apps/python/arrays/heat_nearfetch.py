# SPDX-License-Identifier: Apache-2.0
"""Heat on a plate, with distributed arrays."""

from nearfetch import barrier, from_numpy, rank


def solve(plate, steps):
    """Jacobi's iteration; the edges stay. Rank 0 gives the plate, and gets it back."""
    old = from_numpy(plate, root=0, halo=1)
    new = old.copy()
    own = old.local_box[0]
    inside = slice(max(own.start, 1) - own.start, min(own.stop, old.shape[0] - 1) - own.start)
    for _ in range(steps):
        u, _ = old.with_halo(1)
        new.local[inside, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        barrier()
        old, new = new, old
    return old[...] if rank() == 0 else None
