# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays from numpy arrays, functions and sequences of numbers: numpy's names and numbers.

Sparse matrices from those of scipy. Each rank makes its own part. All of these are collective, and end with
a barrier: any rank may read any element then. `distribution` is the type of the result; `how` has `grid` and
`block` as for its constructor.
"""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Callable, Iterator, Optional, Sequence, Union

from nearfetch.agreement import exchange, said, together
from nearfetch.arrays import BlockArray, DistributedArray
from nearfetch.errors import Error
from nearfetch.indexing import key_of
from nearfetch.literals import read_literal
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.sparse import SparseMatrix
from nearfetch.sparse_moves import described, rows_from

__all__ = ["arange", "from_function", "from_numpy", "from_scipy", "linspace", "random"]

Shape = Union[int, Sequence[int]]

_DRAWN_AT_ONCE = 1 << 20
_DRAWS_PER_CALL = 2000  # numbers that are drawn in the time of one call


def from_numpy(
    values: Any,
    root: Optional[int] = None,
    *,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> DistributedArray:
    """An array with the elements of a numpy array. Collective.

    All ranks give the same array, and each takes its own part. With `root` only that rank's array counts,
    and others may give None. Raises Error for a dtype that arrays do not have, or a `root` that is no rank.

    >>> from nearfetch import launch, rank
    >>> launch(lambda: from_numpy(np.arange(6).reshape(2, 3))[1].tolist(), ranks=2)
    [[3, 4, 5], [3, 4, 5]]
    >>> launch(lambda: from_numpy(np.arange(4) if rank() == 1 else None, root=1)[3].item(), ranks=2)
    [3, 3]
    """
    if root is None:
        if isinstance(values, DistributedArray):
            raise Error(
                f"from_numpy of a {type(values).__name__} (its elements are not all here): use assign"
            )
        given = np.asarray(values)
        exchange(f"from_numpy of {given.dtype} {given.shape} as {distribution.__name__}{said(**how)}")
        array = distribution(given.shape, given.dtype, **how)
        if array.local.size:
            array.local[...] = given[key_of(array.local_indices)]
    else:
        what = f"from_numpy of rank {root}'s as {distribution.__name__}{said(**how)}"
        is_root = _is_root(what, root)
        given = np.asarray(values) if is_root else np.empty(0)
        shown = together(what, lambda: _header_of(given) if is_root else None, "give a numpy array")
        shape, descr = read_literal(shown[root])
        array = distribution(shape, np.lib.format.descr_to_dtype(descr), **how)
        if is_root and array.size:
            array[...] = given
    _native.barrier()
    return array


def from_scipy(matrix: Any, root: Optional[int] = None) -> SparseMatrix:
    """A sparse matrix with the non-zeros of one of scipy. Collective.

    All ranks give the same matrix, and each takes its own rows. With `root` only that rank's matrix counts,
    and others may give None. Values that are given for one index are added. Raises Error for another type,
    a dtype that matrices do not have, or a `root` that is no rank.

    >>> from nearfetch import launch, rank
    >>> from scipy.sparse import eye_array
    >>> def main():
    ...     a = from_scipy(eye_array(4, format="csr") if rank() == 0 else None, root=0)
    ...     return a.shape, a.nnz, (a @ np.arange(4)).tolist()
    >>> launch(main, ranks=2)
    [((4, 4), 4, [0.0, 1.0]), ((4, 4), 4, [2.0, 3.0])]
    """
    if root is None:
        rows = _rows_of_scipy(matrix)
        exchange(f"from_scipy of {rows.dtype} {rows.shape}")
        own = SparseMatrix.rows_of(rows.shape[0])
        return SparseMatrix(rows.shape, rows[own.start : own.stop], rows.dtype)
    what = f"from_scipy of rank {root}'s"
    given: list[Any] = []
    if _is_root(what, root):
        given.append(matrix)

    def prepare() -> str:
        if not given:
            return ""
        given[0] = _rows_of_scipy(given[0])
        return described(given[0])

    text = together(what, prepare, "give a matrix of scipy.sparse")[root]
    return SparseMatrix(*rows_from(what, root, given[0] if given else None, text))


def _rows_of_scipy(matrix: Any) -> Any:
    """As CSR, with one value for each index."""
    if not hasattr(matrix, "tocsr"):
        raise Error(
            f"from_scipy of a {type(matrix).__name__} (it has no tocsr): give a matrix of scipy.sparse, or "
            "make a SparseMatrix of own rows"
        )
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _is_root(what: str, root: int) -> bool:
    if not 0 <= operator.index(root) < _native.ranks():
        raise Error(f"{what} (the program has {_native.ranks()} ranks): use 0 to {_native.ranks() - 1}")
    return _native.rank() == root


def _header_of(values: np.ndarray) -> str:
    if values.dtype.hasobject:
        raise Error(
            f"an array of {values.dtype} (Python's objects stay in their process): use a dtype of bytes"
        )
    return repr((values.shape, np.lib.format.dtype_to_descr(values.dtype)))


def from_function(
    function: Callable[..., Any],
    shape: Shape,
    *,
    dtype: Any = float,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> DistributedArray:
    """An array with the values of a function of the indices. Collective.

    As numpy.fromfunction: `function` gets an array of indices for each dimension, of `dtype`, and returns
    all values. Here they are the indices of the rank's own part, and read-only. The result has the dtype of
    what `function` returns; it is called for one element first, to learn that.

    >>> from nearfetch import launch
    >>> launch(lambda: from_function(lambda i, j: 10 * i + j, (2, 3), dtype=int)[...].tolist(), ranks=2)[1]
    [[0, 1, 2], [10, 11, 12]]
    """
    extents = tuple(operator.index(extent) for extent in (shape if np.iterable(shape) else (shape,)))
    least = [np.zeros([min(extent, 1) for extent in extents], dtype) for _ in extents]
    kind = np.asarray(function(*least)).dtype
    exchange(
        f"from_function of shape {extents} with values of {kind} as {distribution.__name__}{said(**how)}"
    )
    array = distribution(extents, kind, **how)
    own = array.local
    if own.size:
        open_mesh = np.ix_(*(one.astype(dtype) for one in array.local_indices))
        values = np.asarray(function(*(np.broadcast_to(one, own.shape) for one in open_mesh)))
        if values.dtype != kind:
            raise Error(
                f"from_function: values of {values.dtype}, for the first element of {kind} (an array has one "
                "dtype): let the function convert them"
            )
        own[...] = values
    _native.barrier()
    return array


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> DistributedArray:
    """As numpy.arange, for numbers. Collective. Raises Error for a step of 0, and for other types.

    >>> from nearfetch import launch
    >>> launch(lambda: arange(3, 10, 2)[...].tolist(), ranks=2)
    [[3, 5, 7, 9], [3, 5, 7, 9]]
    """
    first, end = (0, start) if stop is None else (start, stop)
    for word in (first, end, step):
        if not isinstance(word, numbers.Real):
            raise Error(f"arange of {word!r} (it is of real numbers): use from_function")
    if step == 0:
        raise Error(f"arange from {first} to {end} (its step is 0): use another step")
    exchange(f"arange({first!r}, {end!r}, {step!r}, {dtype!r}) as {distribution.__name__}{said(**how)}")
    kind = np.arange(*((end * 0,) if stop is None else (first * 0, end * 0)), step=step, dtype=dtype).dtype
    array = distribution(max(0, math.ceil((end - first) / step)), kind, **how)
    # As numpy does: from the first two elements of that dtype, half precision in single.
    two = np.empty(2, kind)
    two[0], two[1] = first, first + step
    index = array.local_indices[0]
    exact = np.dtype("f4") if kind.type is np.float16 else kind
    begin, following = two[:1].astype(exact), two[1:].astype(exact)
    own = begin + index.astype(exact) * (following - begin)
    own[index == 1] = following
    array.local[...] = own
    _native.barrier()
    return array


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    *,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> DistributedArray:
    """As numpy.linspace, for numbers. Collective. Raises Error for a negative `num`, and for other types.

    >>> from nearfetch import launch
    >>> launch(lambda: linspace(0, 1, 5)[...].tolist(), ranks=2)[0]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    for word in (start, stop):
        if not isinstance(word, numbers.Complex):
            raise Error(f"linspace of {word!r} (it is of numbers): use from_function")
    count = operator.index(num)
    if count < 0:
        raise Error(f"linspace of {count} numbers (they are counted): use 0 or more")
    what = f"linspace({start!r}, {stop!r}, {count}, {endpoint}, {dtype!r})"
    exchange(f"{what} as {distribution.__name__}{said(**how)}")
    kind = np.linspace(start, stop, 2, dtype=dtype).dtype
    exact = np.linspace(start, stop, 2).dtype
    array = distribution(count, kind, **how)
    index = array.local_indices[0]
    gaps, width = count - 1 if endpoint else count, np.subtract(stop, start, dtype=exact)
    own = index.astype(exact)
    if gaps > 0:
        gap = width / gaps
        own = own * gap if gap != 0 else own / gaps * width
    else:
        own = own * width
    own = own + start
    if endpoint and count > 1:
        own[index == count - 1] = stop
    array.local[...] = np.floor(own) if kind.kind in "iu" else own
    _native.barrier()
    return array


def random(
    shape: Shape,
    seed: Optional[int] = None,
    dtype: Any = float,
    *,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> DistributedArray:
    """Random numbers from 0 up to, but not including, 1: the same on any number of ranks. Collective.

    They are those of `numpy.random.Generator(numpy.random.Philox(seed)).random(shape, dtype)`; `dtype` is
    float64 or float32. Without a seed the numbers are others each time.

    >>> from nearfetch import CyclicArray, launch
    >>> drawn = launch(lambda: random((3, 4), seed=7, distribution=CyclicArray)[...], ranks=2)[1]
    >>> bool((drawn == np.random.Generator(np.random.Philox(7)).random((3, 4))).all())
    True
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype("f8"), np.dtype("f4")):
        raise Error(f"random numbers of {kind} (there are float64 and float32): use astype on their part")
    what = f"random of shape {shape!r}, seed {seed!r}, {kind} as {distribution.__name__}{said(**how)}"
    fresh = str(np.random.SeedSequence().entropy) if _native.rank() == 0 and seed is None else ""
    drawn = exchange(what, fresh)[0]
    array = distribution(shape, kind, **how)
    own = array.local
    if own.size:
        stream = _Stream(int(drawn) if seed is None else seed, kind)
        for key, at in _runs(array):
            first = int(at[0])
            run = stream.numbers(first, int(at[-1]) - first + 1)
            own[key] = (run if run.size == at.size else run[at - first]).reshape(own[key].shape)
    _native.barrier()
    return array


class _Stream:
    """Random numbers by their position in the sequence."""

    def __init__(self, seed: Any, dtype: np.dtype) -> None:
        self._seed = np.random.SeedSequence(seed)
        self._dtype = dtype
        # A step of the counter makes four words of 64 bits.
        self._per_step = 32 // dtype.itemsize

    def numbers(self, first: int, count: int) -> np.ndarray:
        """`count` numbers from position `first` on."""
        steps, skipped = divmod(first, self._per_step)
        generator = np.random.Generator(np.random.Philox(self._seed).advance(steps))
        return generator.random(skipped + count, self._dtype)[skipped:]


def _runs(array: DistributedArray) -> Iterator[tuple[Any, np.ndarray]]:
    """Keys of `local`, and the positions of their elements in C order: each are drawn together."""
    indices = array.local_indices
    strides = [int(np.prod(array.shape[at + 1 :], dtype=object)) for at in range(array.ndim)]
    depth = _depth(indices, strides)
    within = np.zeros(1, np.int64)
    for own, stride in zip(indices[depth + 1 :], strides[depth + 1 :]):
        within = np.add.outer(within, own * stride).reshape(-1)
    rows = indices[depth] * strides[depth]
    for at in np.ndindex(*(len(own) for own in indices[:depth])):
        before = sum(int(own[i]) * stride for own, i, stride in zip(indices, at, strides))
        first = 0
        while first < len(rows):
            end = int(np.searchsorted(rows, rows[first] + _DRAWN_AT_ONCE))
            yield (*at, slice(first, end)), np.add.outer(before + rows[first:end], within).reshape(-1)
            first = end


def _depth(indices: Sequence[np.ndarray], strides: Sequence[int]) -> int:
    """For how many dimensions each own index is drawn by itself, so that it takes the least time.

    Numbers between own ones are drawn, too, and a call costs as much as _DRAWS_PER_CALL of them.
    """
    spans = [int(own[-1] - own[0]) * stride for own, stride in zip(indices, strides)]
    costs = {}
    for depth in range(len(indices)):
        within = sum(spans[depth + 1 :]) + 1
        if within <= _DRAWN_AT_ONCE:
            times = int(np.prod([len(own) for own in indices[:depth]], dtype=object))
            drawn = spans[depth] + within
            costs[depth] = times * (drawn + (1 + drawn // _DRAWN_AT_ONCE) * _DRAWS_PER_CALL)
    return min(costs, key=lambda depth: costs[depth])
