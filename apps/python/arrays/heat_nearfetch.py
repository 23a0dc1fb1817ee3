# SPDX-License-Identifier: Apache-2.0
"""Heat on a plate, with distributed arrays."""

from nearfetch import barrier, from_numpy, rank, ranks


def relaxed(u):
    """A step for what is inside of some rows."""
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def solve(plate, steps):
    """Jacobi's iteration; the edges stay. Rank 0 gives the plate, and gets it back."""
    old = from_numpy(plate, root=0, grid=(ranks(), 1))
    new = old.copy()
    own = old.local_box[0]
    beside_others = [row for row in (own.start, own.stop - 1) if 0 < row < old.shape[0] - 1]
    for _ in range(steps):
        for row in beside_others:
            new.local[row - own.start, 1:-1] = relaxed(old[row - 1 : row + 2])[0]
        new.local[1:-1, 1:-1] = relaxed(old.local)
        barrier()
        old, new = new, old
    return old[...] if rank() == 0 else None
