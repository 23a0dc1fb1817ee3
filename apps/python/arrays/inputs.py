# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder compute with: the same numbers each time, on rank 0 alone."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

DIMENSIONS = 8
"""Of the points."""
CLUSTERS = 16
LINKS = 20
"""Of each page, some of them alike."""
NEAR, FAR_SHARE = 300, 0.1
"""Most links lead to pages so near, on the average; this share to any page."""


def plate(order: int) -> np.ndarray:
    """A square plate with a hot disc and a hot edge."""
    row, column = np.ogrid[:order, :order]
    hot = (row - order / 3) ** 2 + (column - order / 2) ** 2 < (order / 5) ** 2
    temperatures = np.where(hot, 100.0, 0.0)
    temperatures[0] = 50.0
    return temperatures


def points(count: int) -> np.ndarray:
    """Points around as many centres as there are clusters."""
    random = np.random.default_rng(1)
    centres = random.uniform(-10, 10, (CLUSTERS, DIMENSIONS))
    return centres[random.integers(CLUSTERS, size=count)] + random.standard_normal((count, DIMENSIONS))


def signal(order: int) -> np.ndarray:
    """A square of complex noise."""
    return np.random.default_rng(2).standard_normal((order, 2 * order)).view(complex)


def links(pages: int) -> Any:
    """Links by their target, as a matrix of scipy; the weights of a source's links add up to 1.

    Most lead to near pages, as within a site. The others lead to popular pages more often than to others.
    """
    from scipy.sparse import coo_array

    random = np.random.default_rng(3)
    source = np.repeat(np.arange(pages, dtype=np.int32), LINKS)
    near = source + np.rint(random.laplace(0, NEAR, source.size)).astype(np.int32)
    far = (pages * random.random(source.size) ** 2).astype(np.int32)
    target = np.where(random.random(source.size) < FAR_SHARE, far, near) % np.int32(pages)
    return coo_array((np.full(source.size, 1 / LINKS), (target, source)), shape=(pages, pages)).tocsr()


class Problem(NamedTuple):
    """What a program is given, and how much it does."""

    make: Callable[[int], Any]
    """The input of a size."""
    arguments: Callable[[float], tuple[Any, ...]]
    """Of `solve`, after the input, for an amount of the command line."""
    least: float
    """An amount that takes next to no time."""


PROBLEMS = {
    "heat": Problem(plate, lambda steps: (int(steps),), 1),
    "kmeans": Problem(points, lambda iterations: (CLUSTERS, int(iterations)), 1),
    "pagerank": Problem(links, lambda tolerance: (tolerance,), 1.0),
    "fft": Problem(signal, lambda times: (int(times),), 1),
}
