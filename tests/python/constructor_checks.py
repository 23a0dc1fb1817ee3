# SPDX-License-Identifier: Apache-2.0
"""Arrays from numpy arrays, functions and numbers: numpy's numbers, whatever the ranks and distribution.

python constructor_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import numpy as np
from array_checks import DTYPES, SHAPES, refused, same, values
from checks import run_checks

from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CyclicArray,
    arange,
    barrier,
    constructors,
    from_function,
    from_numpy,
    linspace,
    random,
    rank,
    ranks,
)

DISTRIBUTIONS = ((BlockArray, {}), (CyclicArray, {}), (BlockCyclicArray, {"block": 3}))


def distributions(dimensions):
    """Arguments for each distribution."""
    for distribution, how in DISTRIBUTIONS:
        yield {"distribution": distribution, **{word: [n] * dimensions for word, n in how.items()}}


def numpy_arrays():
    """On all ranks, and on one; in any order and with any strides."""
    for number, shape in enumerate(SHAPES):
        model = values(shape, DTYPES[number % len(DTYPES)])
        for how in distributions(len(shape)):
            same(from_numpy(model, **how), model)
            root = number % ranks()
            same(from_numpy(model if rank() == root else None, root, **how), model)
    model = values((6, 8), "f4")
    same(from_numpy(model.T[::-2]), model.T[::-2])
    same(from_numpy([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    own = from_numpy(np.zeros(40))
    refused(lambda: from_numpy(np.array([None])), "Python's objects")
    refused(lambda: from_numpy(np.array([None]), root=0), "Python's objects")
    refused(lambda: from_numpy(np.zeros(3), root=ranks()), f"use 0 to {ranks() - 1}")
    refused(lambda: from_numpy(np.float64(3)), "1 to 4")
    refused(lambda: from_numpy(own), "use assign")
    barrier()


def functions():
    """They see the indices that numpy.fromfunction gives."""
    for shape in ((7,), (5, 4), (3, 1, 4), (0,), (3, 0)):
        for dtype in (float, int):

            def weighed(*indices):
                return sum(10**at * index for at, index in enumerate(indices))

            for how in distributions(len(shape)):
                same(
                    from_function(weighed, shape, dtype=dtype, **how),
                    np.fromfunction(weighed, shape, dtype=dtype),
                )
    same(from_function(lambda i, j: i < j, (4, 5)), np.fromfunction(lambda i, j: i < j, (4, 5)))
    same(from_function(lambda i: 7, 3), np.full(3, 7))
    refused(
        lambda: from_function(lambda i: i + 0.5 if i.max() > 0 else 1, 3 * ranks(), dtype=int),
        "let the function",
    )
    barrier()


RANGES = (
    ((0,), {}),
    ((17,), {}),
    ((3, 20, 4), {}),
    ((10, -3, -2), {}),
    ((0.1, 3, 0.3), {}),
    ((5.5,), {}),
    ((-1, 1, 1e-2), {"dtype": "f4"}),
    ((3, 40), {"dtype": "f2"}),
    ((0, 5, 0.75), {"dtype": "f2"}),
    ((np.float32(9.5),), {}),
    ((10, 0, -1), {"dtype": "u1"}),
    ((2**60, 2**60 + 9), {}),
    ((5, 2), {}),
)

SPACES = (
    ((0, 1), {}),
    ((-3, 4.5, 7), {"endpoint": False}),
    ((2, 2, 5), {}),
    ((0, 10, 13), {"dtype": int}),
    ((-5, 5, 8), {"dtype": "i2", "endpoint": False}),
    ((0, 1j, 6), {}),
    ((1, 3, 1), {}),
    ((1, 3, 0), {}),
    ((0, 1, 11), {"dtype": "f4"}),
    ((0, 5e-324, 10), {}),
)


def sequences():
    """To the last bit numpy's."""
    for how in distributions(1):
        for words, more in RANGES:
            same(arange(*words, **more, **how), np.arange(*words, **more))
        for words, more in SPACES:
            same(linspace(*words, **more, **how), np.linspace(*words, **more))
    same(arange(3, step=2), np.arange(3, step=2))
    refused(lambda: arange(1, 2, 0), "step is 0")
    refused(lambda: arange("a"), "real numbers")
    refused(lambda: linspace([1, 2], 3), "of numbers")
    refused(lambda: linspace(1, 2, -1), "0 or more")
    barrier()


def random_numbers():
    """Those of numpy's generator, in each part."""
    for shape in ((1,), (103,), (9, 11), (4, 3, 5), (2, 3, 2, 3), (0,), (2, 0), (300, 2)):
        for dtype in ("f8", "f4"):
            expected = np.random.Generator(np.random.Philox(5)).random(shape, dtype)
            for how in distributions(len(shape)):
                for at_once, per_call in ((1 << 20, 2000), (7, 2000), (1 << 20, 0), (7, 0)):
                    constructors._DRAWN_AT_ONCE, constructors._DRAWS_PER_CALL = at_once, per_call
                    same(random(shape, 5, dtype, **how), expected)
                    barrier()
    one, other = random(1000), random(1000)
    assert not np.array_equal(one[...], other[...]) and one.min() >= 0 and one.max() < 1
    assert len(set(one._of_all_ranks("min", np.array([one[999]])).tolist())) == 1
    refused(lambda: random(3, 1, "i4"), "float64 and float32")
    barrier()


def main():
    """All of it, in one program."""
    numpy_arrays()
    functions()
    sequences()
    random_numbers()
    return rank()


if __name__ == "__main__":
    run_checks(main)
