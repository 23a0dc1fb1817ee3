# SPDX-License-Identifier: Apache-2.0
"""Programs in which rank 0 calls another collective function than the others, or with other arguments. The
error is caught in all ranks, so one program runs all cases."""

from __future__ import annotations

import operator
import re
from typing import Any, Callable

import numpy as np

import nearfetch
from nearfetch import (
    BlockArray,
    CollectiveError,
    CyclicArray,
    SparseMatrix,
    barrier,
    launch,
    phase,
    rank,
    ranks,
)


class Arrays:
    """Objects that the programs use."""

    def __init__(self) -> None:
        self.a = BlockArray(12)
        self.b = BlockArray(12)
        self.c = CyclicArray(12)
        self.flags = BlockArray(12, bool)
        self.m = BlockArray((6, 4))
        self.nine = BlockArray(9)
        self.wide = BlockArray((6, 4), "S20")
        self.s = SparseMatrix((4, 4))


Use = Callable[[Arrays], Any]


def _empty_phase(_: Arrays) -> None:
    with phase():
        pass


def _wait(_: Arrays) -> None:
    barrier()


# Title, rank 0's call and function, the others' call and function.
MISMATCHES: list[tuple[str, str, Use, str, Use]] = [
    ("sum and barrier", "sum", lambda x: x.a.sum(), "barrier", _wait),
    ("barrier and sum", "barrier", _wait, "sum", lambda x: x.a.sum()),
    ("sum and max", "sum", lambda x: x.a.sum(), "max", lambda x: x.a.max()),
    ("min and max", "min", lambda x: x.a.min(), "max", lambda x: x.a.max()),
    ("sum and mean", "sum", lambda x: x.a.sum(), "mean", lambda x: x.a.mean()),
    ("std and var", "std", lambda x: np.std(x.a), "var", lambda x: np.var(x.a)),
    ("any and all", "any", lambda x: x.a.any(), "all", lambda x: x.a.all()),
    ("argmin and argmax", "argmin", lambda x: x.a.argmin(), "argmax", lambda x: np.argmax(x.a)),
    ("sums over two axes", "sum", lambda x: x.m.sum(axis=0), "sum", lambda x: x.m.sum(axis=1)),
    ("sum over an axis and of all", "sum", lambda x: x.m.sum(axis=0), "sum", lambda x: x.m.sum()),
    ("sums of two dtypes", "sum", lambda x: x.a.sum(dtype="f4"), "sum", lambda x: x.a.sum()),
    ("add and multiply", "add", lambda x: x.a + 1, "multiply", lambda x: x.a * 1),
    ("in place, of two layouts", "add", lambda x: operator.iadd(x.b, x.c), "barrier", _wait),
    ("two additions", "add", lambda x: x.a + 1, "add", lambda x: x.a + 1j),
    ("copy and zeros_like", "copy", lambda x: x.a.copy(), "zeros_like", lambda x: np.zeros_like(x.a)),
    ("astype and where", "astype", lambda x: x.a.astype(int), "where", lambda x: np.where(x.a, 1, 2)),
    ("transpose and barrier", "transpose", lambda x: x.m.T, "barrier", _wait),
    ("two products", "matmul", lambda x: x.m @ np.ones(4), "dot", lambda x: np.dot(x.m, np.ones(4))),
    ("norm and sum", "norm", lambda x: np.linalg.norm(x.a), "sum", lambda x: x.a.sum()),
    ("numpy's sum and a sum", "sum", lambda x: np.sum(x.a), "sum", lambda x: x.b.sum()),
    ("dense and sparse sum", "sum", lambda x: x.a.sum(), "sum", lambda x: x.s.sum()),
    ("max and phase", "max", lambda x: x.a.max(), "barrier", _empty_phase),
    ("fill and barrier", "fill", lambda x: x.a.fill(1), "barrier", _wait),
    ("fill with two values", "fill", lambda x: x.a.fill(1), "fill", lambda x: x.a.fill(2)),
    ("fill of two arrays", "fill", lambda x: x.a.fill(1), "fill", lambda x: x.b.fill(1)),
    ("array and barrier", "DistributedArray", lambda _: BlockArray(9), "barrier", _wait),
    ("array and sum", "DistributedArray", lambda _: BlockArray(9), "sum", lambda x: x.a.sum()),
    ("two shapes", "DistributedArray", lambda _: BlockArray(9), "DistributedArray", lambda _: BlockArray(8)),
    (
        "two sizes",
        "DistributedArray",
        lambda _: BlockArray(9, "f4"),
        "DistributedArray",
        lambda _: BlockArray(9),
    ),
    (
        "two kinds",
        "DistributedArray",
        lambda _: BlockArray((1, 1)),
        "DistributedArray",
        lambda _: CyclicArray((1, 1)),
    ),
    (
        "array and matrix",
        "DistributedArray",
        lambda _: BlockArray(9),
        "SparseMatrix",
        lambda _: SparseMatrix((5, 5)),
    ),
    ("assign and fill", "assign", lambda x: x.a.assign(x.b), "fill", lambda x: x.a.fill(3)),
    (
        "a begun assign and fill",
        "assign_async",
        lambda x: x.a.assign_async(x.b),
        "fill",
        lambda x: x.a.fill(3),
    ),
    ("assign both ways", "assign", lambda x: x.a.assign(x.b), "assign", lambda x: x.b.assign(x.a)),
    (
        "an assignment by one rank",
        "assignment",
        lambda x: x.a.__setitem__(..., x.c),
        "barrier",
        _wait,
    ),
    ("cumsum and cumprod", "cumsum", lambda x: x.a.cumsum(), "cumprod", lambda x: x.a.cumprod()),
    ("a mask and barrier", "selection by a mask", lambda x: x.a[x.flags], "barrier", _wait),
    ("two shifts", "roll", lambda x: np.roll(x.a, 1), "roll", lambda x: np.roll(x.a, 2)),
    ("reshape and barrier", "reshape", lambda x: x.m.reshape(4, 6), "barrier", _wait),
    ("resize and sum", "resize", lambda x: x.a.resize(20), "sum", lambda x: x.a.sum()),
    ("two resizes", "resize", lambda x: x.a.resize(20), "resize", lambda x: x.a.resize(21)),
    (
        "two stencils",
        "prefetch_stencil",
        lambda x: x.b.prefetch_stencil(1),
        "prefetch_stencil",
        lambda x: x.b.prefetch_stencil(2),
    ),
    (
        "two patterns",
        "prefetch_row_wise",
        lambda x: x.b.prefetch_row_wise(),
        "prefetch_all_to_all",
        lambda x: x.b.prefetch_all_to_all(),
    ),
    (
        "two patterns of wide elements",
        "prefetch_column_wise",
        lambda x: x.wide.prefetch_column_wise(),
        "prefetch_transpose",
        lambda x: x.wide.prefetch_transpose(),
    ),
    ("ghosts and barrier", "accumulate_ghosts", lambda x: x.a.accumulate_ghosts(), "barrier", _wait),
    (
        "saves to two files",
        "save of float64 (12,) to '/absent/a.npy'",
        lambda x: nearfetch.save("/absent/a.npy", x.a),
        "save of float64 (12,) to '/absent/b.npy'",
        lambda x: nearfetch.save("/absent/b.npy", x.a),
    ),
    (
        "saves of two shapes",
        "save of float64 (9,) to '/absent/a.npy'",
        lambda x: nearfetch.save("/absent/a.npy", x.nine),
        "save of float64 (12,) to '/absent/a.npy'",
        lambda x: nearfetch.save("/absent/a.npy", x.a),
    ),
    (
        "save and load",
        "save of float64 (12,) to '/absent/a.npy'",
        lambda x: nearfetch.save("/absent/a.npy", x.a),
        "load of '/absent/a.npy' as BlockArray",
        lambda _: nearfetch.load("/absent/a.npy"),
    ),
    (
        "load and barrier",
        "load of '/absent/a.npy' as CyclicArray",
        lambda _: nearfetch.load("/absent/a.npy", distribution=CyclicArray),
        "barrier",
        _wait,
    ),
    (
        "from_numpy of two shapes",
        "from_numpy of float64 (3,) as BlockArray",
        lambda _: nearfetch.from_numpy(np.zeros(3)),
        "from_numpy of float64 (4,) as BlockArray",
        lambda _: nearfetch.from_numpy(np.zeros(4)),
    ),
    (
        "two ranges",
        "arange(0, 5, 1, None) as BlockArray",
        lambda _: nearfetch.arange(5),
        "arange(1, 5, 1, None) as BlockArray",
        lambda _: nearfetch.arange(1, 5),
    ),
    (
        "two seeds",
        "random of shape 5, seed 1, float64 as BlockArray",
        lambda _: nearfetch.random(5, 1),
        "random of shape 5, seed 2, float64 as BlockArray",
        lambda _: nearfetch.random(5, 2),
    ),
    ("transpose and barrier", "T", lambda x: x.s.T, "barrier", _wait),
    (
        "two reductions",
        "allreduce of int64 () by sum",
        lambda _: nearfetch.allreduce(1),
        "allreduce of int64 () by max",
        lambda _: nearfetch.allreduce(1, "max"),
    ),
    (
        "reductions of two dtypes",
        "allreduce of int64 () by sum",
        lambda _: nearfetch.allreduce(1),
        "allreduce of float64 () by sum",
        lambda _: nearfetch.allreduce(1.0),
    ),
    (
        "reductions of two shapes",
        "allreduce of float64 (2,) by sum",
        lambda _: nearfetch.allreduce(np.ones(2)),
        "allreduce of float64 (3,) by sum",
        lambda _: nearfetch.allreduce(np.ones(3)),
    ),
    (
        "two roots",
        "bcast from rank 0",
        lambda _: nearfetch.bcast(1),
        "bcast from rank 1",
        lambda _: nearfetch.bcast(1, root=1),
    ),
    (
        "gather to all or one",
        "gather to all ranks",
        lambda _: nearfetch.gather(1),
        "gather to rank 0",
        lambda _: nearfetch.gather(1, root=0),
    ),
    ("gather and barrier", "gather to all ranks", lambda _: nearfetch.gather(1), "barrier", _wait),
    (
        "two periods",
        "prefetch_stencil",
        lambda x: x.b.prefetch_stencil(1, periodic=True),
        "prefetch_stencil",
        lambda x: x.b.prefetch_stencil(1),
    ),
    ("sparse add and sum", "add", lambda x: x.s.add(([], [])), "sum", lambda x: x.s.sum()),
]


def told(mismatch: tuple[str, str, Use, str, Use], arrays: Arrays) -> str:
    """The calling rank's error, if it names both calls, their lines, and the ranks."""
    title, odd, first, even, others = mismatch
    try:
        (first if rank() == 0 else others)(arrays)
    except CollectiveError as problem:
        who = {2: "rank 1", 3: "ranks 1 and 2"}.get(ranks(), f"ranks 1 to {ranks() - 1}")
        here = re.escape(__file__) + r":\d+"
        first_call, other_calls = re.escape(odd), re.escape(even)
        if re.search(rf"rank 0 in {first_call} at {here}; {who} in {other_calls} at {here}", str(problem)):
            return str(problem)
        return f"{title}: {problem}"
    return f"{title}: nothing"


def main() -> list[str]:
    """Runs all cases; returns what is wrong."""
    wrong = []
    arrays = Arrays()
    for mismatch in MISMATCHES:
        text = told(mismatch, arrays)
        if not text.startswith("ranks meet"):
            wrong.append(text)
        arrays.b.evict_prefetch()
        arrays.a.fill(2)
        if arrays.a.sum() != 24 or BlockArray(7).sum() != 0:
            wrong.append(f"after {mismatch[0]}")
    return wrong


if __name__ == "__main__":
    (found,) = launch(main)
    print("\n".join(found) or "passed")
