# SPDX-License-Identifier: Apache-2.0
"""PageRank, with dask: an iteration at a time, over two chunks of rows."""

import dask.array as da
import numpy as np


def solve(links, tolerance, damping=0.85):
    """The power method. The links are by their target, of weights that add up to 1 for each source."""
    pages = links.shape[0]
    rows = da.from_array(links, chunks=(-(-pages // 2), pages), asarray=False).persist()
    x = np.full(pages, 1 / pages)
    change = 1.0
    while change > tolerance:
        products = rows.map_blocks(lambda block, x: block @ x, x, drop_axis=1, dtype=float)
        new = (damping * products + (1 - damping) / pages).compute()
        change = np.abs(new - x).sum()
        x = new
    return x
