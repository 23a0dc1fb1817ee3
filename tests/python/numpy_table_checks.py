# SPDX-License-Identifier: Apache-2.0
"""numpy's operations on distributed arrays (numpy_table.py) against numpy: results, dtypes and bytes moved.

python numpy_table_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from array_checks import refused
from checks import run_whole_or_some
from numpy_table import MOVED, NAMED, OWN, PRODUCTS, REFUSED, SCALARS, TABLE, TWICE

import nearfetch
from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CyclicArray,
    barrier,
    rank,
    ranks,
    statistics,
)

SHAPES = ((1001,), (67, 45), (13, 5, 17))
DTYPES = ("f8", "i4", "c16")
DEGENERATE = ((1,), (2, 1), (1, 7, 2))
OTHER = {BlockArray: CyclicArray, CyclicArray: BlockArray, BlockCyclicArray: BlockArray}


def made(kind: type, model: np.ndarray, **more: Any) -> Any:
    """The model's elements in a distributed array."""
    more = more or ({"block": [3] * model.ndim} if kind is BlockCyclicArray else {})
    array = kind(model.shape, model.dtype, **more)
    array.local[...] = model[np.ix_(*array.local_indices)]
    barrier()
    return array


def operands(kind: type, shape: tuple[int, ...], dtype: str) -> tuple[SimpleNamespace, SimpleNamespace]:
    """numpy's arrays of the table, and the same where some are distributed."""
    random = np.random.default_rng(3)

    def values(*extents: int) -> np.ndarray:
        known = random.integers(1, 10, extents)
        return (known + (1j * random.integers(0, 3, extents) if dtype[0] == "c" else 0)).astype(dtype)

    model = SimpleNamespace(a=values(*shape), b=values(*shape), c=values(*shape), mask=values(*shape) == 4)
    model.v, model.w, model.m, model.k = values(301), values(301), values(37, 23), values(23, 31)
    model.other, model.n, model.row, model.y = model.v, values(*shape), values(shape[-1]), values(23)
    model.s, model.few, model.ordered = values(29, 29), values(3, 301), np.sort(model.v)
    model.rows, model.one = model.m, 1
    distributed = SimpleNamespace(**vars(model))
    for name in ("a", "b", "mask", "v", "w", "m", "k", "s", "few", "ordered"):
        setattr(distributed, name, made(kind, getattr(model, name)))
    distributed.rows = made(BlockArray, model.rows, grid=(ranks(), 1))
    for name in ("c", "other"):
        setattr(distributed, name, made(OTHER[kind], getattr(model, name)))
    return model, distributed


def moved() -> int:
    """Bytes that this rank has sent and fetched."""
    known = statistics()
    return known["get_message_bytes"] + known["put_message_bytes"] + known["call_bytes"]


def most(kind: str, x: SimpleNamespace, in_blocks: bool, result: Any) -> float:
    """Bytes that an operation of this kind may move in a rank. Replication is more.

    1024 of them are a page that is read ahead.
    Products of arrays that are not in blocks are not bounded: the matrices are small, and are redistributed
    before and after. One GET of named elements, or of parts of rows, may bring 8 KiB between them: all of
    such small arrays. What is in cycles may go into blocks and back. `moving_checks.py` and
    `access_checks.py` have larger ones.
    """
    if kind == OWN:
        return 0
    if kind == SCALARS:
        return 16 * 6 * (ranks() + 1) + 1024
    if kind == PRODUCTS:
        return 0.5 * (x.m.nbytes + x.k.nbytes) + 1024 if in_blocks else np.inf
    if kind in (NAMED, TWICE):
        return 1.1 * x.a.nbytes + 1024
    if kind == MOVED:
        results = result if isinstance(result, tuple) else (result,)
        return (0.5 if in_blocks else 1) * max(x.a.nbytes, sum(one.nbytes for one in results)) + 1024
    return 0.5 * x.a.nbytes + 1024


def same(seen: Any, expected: Any) -> None:
    """Asserts that values, dtypes and shapes are equal, of tuples each."""
    if isinstance(expected, tuple):
        assert len(seen) == len(expected)
        for one, other in zip(seen, expected):
            same(one, other)
        return
    seen, expected = np.asarray(seen), np.asarray(expected)
    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape), (seen, expected)
    if seen.dtype.kind in "fc":
        assert np.allclose(seen, expected, rtol=1e-10, equal_nan=True), (seen, expected)
    else:
        assert np.array_equal(seen, expected), (seen, expected)


def one(operation: Any, model: SimpleNamespace, distributed: SimpleNamespace, bounded: bool) -> None:
    """Runs an operation on both."""
    before = moved()
    if operation.kind == REFUSED:
        refused(lambda: operation.call(distributed), "): ")
        assert moved() == before
        return
    try:
        expected = operation.call(model)
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as problem:
        # numpy refuses it for this dtype or shape; here it fails in the same way in all ranks.
        try:
            operation.call(distributed)
        except (type(problem), nearfetch.Error):
            return
        raise AssertionError(f"not refused: {problem}") from None
    seen = operation.call(distributed)
    used = moved() - before
    if bounded:
        limit = most(operation.kind, model, isinstance(distributed.a, BlockArray), expected)
        assert used <= (limit if ranks() > 1 else 0), f"{used} bytes moved, {limit} allowed"
    if operation.writes:
        barrier()
    same(seen, expected)
    barrier()


def table(kind: type, shape: tuple[int, ...], dtype: str, bounded: bool = True) -> None:
    """All operations on arrays of a kind."""
    model, distributed = operands(kind, shape, dtype)
    for operation in TABLE:
        try:
            one(operation, model, distributed, bounded or operation.kind == OWN)
        except BaseException as problem:
            problem.args = (f"{operation.title} of {kind.__name__}, {shape}, {dtype}: {problem}",)
            raise


def replication_is_counted() -> None:
    """The explicit way moves what other ranks own, so that `moved()` would notice a silent one."""
    array = BlockArray((67, 45))
    before = moved()
    assert np.asarray(array).shape == array.shape
    assert moved() - before == array.nbytes - array.local.nbytes
    barrier()


def main(whole: bool) -> int:
    """All of it, in one program; on MPI, where it takes long, one shape of each kind."""
    assert len({operation.title for operation in TABLE}) == len(TABLE) >= 120
    replication_is_counted()
    for shape in SHAPES if whole else SHAPES[1:2]:
        for dtype in DTYPES:
            table(BlockArray, shape, dtype)
    for kind in (CyclicArray, BlockCyclicArray):
        table(kind, SHAPES[1], "f8")
    for shape in DEGENERATE if whole else DEGENERATE[:1]:
        table(BlockArray, shape, "i4", bounded=False)
    return rank()


if __name__ == "__main__":
    run_whole_or_some(main)
