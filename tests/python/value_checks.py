# SPDX-License-Identifier: Apache-2.0
"""Collective functions of values (allreduce, bcast, gather) against numpy, which has all ranks' values.

python value_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import threading

import numpy as np
from array_checks import refused
from checks import run_checks

from nearfetch import allreduce, barrier, bcast, gather, rank, ranks

DTYPES = ("?", "i1", "u2", "i8", "f4", "f8", "c16", ">f8")
SHAPES = ((), (1,), (7,), (3, 4), (0,), (2, 0, 3))
OPERATIONS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "any": np.any, "all": np.all}


def value_of(one: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """The value of a rank; any rank knows it."""
    return (np.random.default_rng(one).random(shape) * 4).astype(dtype)


def same(seen, expected) -> None:
    """Asserts that values, types and shapes are equal."""
    assert np.shape(seen) == np.shape(expected), (seen, expected)
    assert np.asarray(seen).dtype == np.asarray(expected).dtype, (seen, expected)
    np.testing.assert_array_equal(seen, expected)


def reductions() -> None:
    """All operations, dtypes and shapes."""
    for dtype in DTYPES:
        for shape in SHAPES:
            everyone = np.stack([value_of(one, dtype, shape) for one in range(ranks())])
            for name, operation in OPERATIONS.items():
                seen = allreduce(value_of(rank(), dtype, shape), name)
                expected = operation(everyone, axis=0)
                same(seen, expected if shape else np.asarray(expected)[()])
    assert allreduce(rank() + 1) == ranks() * (ranks() + 1) // 2
    assert allreduce(rank() == 0, "any") and not allreduce(rank() != 0, "all")
    assert np.isnan(allreduce(np.nan if rank() == 0 else 1.0, "max"))
    assert allreduce(2.0**-60 + rank()) == gather(allreduce(2.0**-60 + rank()))[0], "the same on all ranks"


def large_arrays() -> None:
    """More than is moved at a time, and not contiguous."""
    own = np.arange(600_000.0)[::2] + rank()
    same(allreduce(own), np.arange(600_000.0)[::2] * ranks() + sum(range(ranks())))
    sent = own[::3].reshape(-1, 4) if rank() == ranks() - 1 else None
    same(bcast(sent, ranks() - 1), (np.arange(600_000.0)[::2] + ranks() - 1)[::3].reshape(-1, 4))


def broadcasts() -> None:
    """Any object, from any rank."""
    record = np.zeros(3, [("x", "f8"), ("name", "S3")])
    for root in range(ranks()):
        values = (root, None, "text", b"", {"a": [1, 2.5]}, record, np.float32(root), np.array(["a"], object))
        for value in values:
            seen = bcast(value if rank() == root else rank(), root)
            assert type(seen) is type(value)
            assert np.array_equal(seen, value) if isinstance(value, np.ndarray) else seen == value
            assert rank() != root or seen is value
    received = bcast(np.zeros(5))
    received[...] = rank()
    barrier()
    assert (received == rank()).all(), "each rank has its own"


def gathered() -> None:
    """Values of any size, to all or to one rank."""
    assert gather("x" * rank()) == ["x" * one for one in range(ranks())]
    assert gather(None) == [None] * ranks()
    for root in range(ranks()):
        seen = gather(np.full(rank(), rank()), root)
        assert (seen is None) == (rank() != root)
        for one, part in enumerate(seen or ()):
            same(part, np.full(one, one))


def errors() -> None:
    """All ranks get them, and go on."""
    refused(lambda: allreduce(1, "mean"), "use sum, prod, min, max, any, all")
    refused(lambda: allreduce("text"), "allreduce of a str")
    refused(lambda: allreduce(10**30), "allreduce of a int, object")
    refused(lambda: bcast(1, ranks()), f"bcast with root={ranks()}")
    refused(lambda: gather(1, root=-1), "gather with root=-1")
    refused(lambda: bcast(threading.Lock()), "bcast from rank 0 (rank 0: TypeError")
    last = ranks() - 1
    refused(lambda: gather(threading.Lock() if rank() == last else 1), f"(rank {last}: TypeError")
    assert allreduce(1) == ranks()


def main() -> None:
    """All checks."""
    for check in (reductions, large_arrays, broadcasts, gathered, errors):
        check()
        barrier()


if __name__ == "__main__":
    run_checks(main)
