# SPDX-License-Identifier: Apache-2.0
"""k-means, with distributed arrays."""

import numpy as np

from nearfetch import BlockArray, from_numpy, ranks


def solve(points, clusters, iterations):
    """Lloyd's iteration from the first points. Rank 0 gives the points; all ranks get the centres."""
    points = from_numpy(points, root=0, grid=(ranks(), 1))
    own, centres = points.local, points[:clusters]
    sums = BlockArray((ranks(), clusters, points.shape[1] + 1), grid=(ranks(), 1, 1))
    for _ in range(iterations):
        nearest = np.argmax(own @ centres.T - 0.5 * (centres**2).sum(axis=1), axis=1)
        members = (nearest == np.arange(clusters)[:, np.newaxis]).astype(float)
        np.matmul(members, own, out=sums.local[0, :, :-1])
        sums.local[0, :, -1] = members.sum(axis=1)
        total = sums.sum(axis=0)[...]
        centres = total[:, :-1] / np.maximum(total[:, -1:], 1)
    return centres
