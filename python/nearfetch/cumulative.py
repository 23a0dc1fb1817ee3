# SPDX-License-Identifier: Apache-2.0
"""Sums and products of an element and all before it, along an axis. Collective.

Each rank accumulates its own part, and its last elements, the part's totals, stand in an array with one
index for each part of the grid there. Each rank reads the totals of the parts before its own, and adds them.
An array that is cyclic along the axis goes into blocks first, and its result back.
"""

from __future__ import annotations

from typing import Any, Optional

from nearfetch.dense import BLOCK, Dense, collective, new_array, redistributed
from nearfetch.elementwise import write
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.rearranging import raveled
from nearfetch.reductions import axes_of

__all__ = ["accumulate", "accumulated", "cumprod", "cumsum"]


def accumulated(what: str, ufunc: np.ufunc, array: Dense, axis: int, dtype: Any = None) -> Dense:
    """`ufunc.accumulate` along an axis, in the layout of `array`. Collective under the name `what`.

    `ufunc` is associative. Floating-point numbers are added in another order than in numpy.
    """
    (axis,) = axes_of(array, axis)
    kind = ufunc.accumulate(np.empty(0, array.dtype), dtype=dtype).dtype
    with collective(what, array._layout, str(array.dtype), str(kind), axis):
        source = array
        if array.grid[axis] > 1 and array._distribution != BLOCK:
            source = redistributed(array, array._layout.as_blocks())
        made = new_array(source._layout, kind)
        ufunc.accumulate(source.local, axis=axis, dtype=kind, out=made.local)
        if made.grid[axis] > 1:
            _add_earlier(ufunc, made, axis)
        _native.barrier()
        return redistributed(made, array._layout)


def _add_earlier(ufunc: np.ufunc, array: Dense, axis: int) -> None:
    """Combines own elements with the totals of the parts before the own one. `array` is in blocks."""
    totals = new_array(array._layout.with_parts((axis,)), array.dtype)
    own = array.local
    if own.size:
        totals.local[...] = own.take([-1], axis=axis)
    _native.barrier()
    part = int(np.unravel_index(_native.rank(), array.grid)[axis])
    if own.size and part > 0:
        wanted = [array._own_indices(dimension) for dimension in range(array.ndim)]
        # Parts without elements are the last ones.
        wanted[axis] = range(part)
        before = ufunc.reduce(totals._read_product(wanted), axis=axis, dtype=array.dtype, keepdims=True)
        ufunc(before, own, out=own)


def accumulate(ufunc: np.ufunc, array: Dense, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate` of an associative one. Collective."""
    return _accumulate(ufunc.__name__ + ".accumulate", ufunc, array, axis, dtype, out)


@implements(np.cumsum)
def cumsum(a: Dense, axis: Optional[int] = None, dtype: Any = None, out: Optional[Dense] = None) -> Any:
    """The sums of each element and all before it, along an axis; else in index order, as a vector.

    The result has the array's layout, and a vector is in blocks. Collective.

    >>> from nearfetch import BlockArray, launch
    >>> def main():
    ...     a = BlockArray((3, 2), dtype="i4")
    ...     a += [[1, 2], [3, 4], [5, 6]]
    ...     return a.cumsum(axis=0)[...].tolist(), np.cumsum(a)[...].tolist()
    >>> launch(main, ranks=4)[3]
    ([[1, 2], [4, 6], [9, 12]], [1, 3, 6, 10, 15, 21])
    """
    return _accumulate("cumsum", np.add, a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(a: Dense, axis: Optional[int] = None, dtype: Any = None, out: Optional[Dense] = None) -> Any:
    """The products of each element and all before it, as `cumsum`. Collective."""
    return _accumulate("cumprod", np.multiply, a, axis, dtype, out)


if hasattr(np, "cumulative_sum"):  # from numpy 2.1 on

    def _of_vectors_and_axes(function: Any, name: str, ufunc: np.ufunc) -> None:
        @implements(function)
        def call(x: Dense, /, *, axis: Optional[int] = None, dtype: Any = None, out: Any = None) -> Any:
            if axis is None and x.ndim != 1:
                raise Error(f"{name} of {x.ndim} dimensions without an axis (numpy asks for it): give axis=")
            return _accumulate(name, ufunc, x, axis, dtype, out)

    _of_vectors_and_axes(np.cumulative_sum, "cumulative_sum", np.add)
    _of_vectors_and_axes(np.cumulative_prod, "cumulative_prod", np.multiply)


def _accumulate(what: str, ufunc: np.ufunc, array: Dense, axis: Optional[int], dtype: Any, out: Any) -> Any:
    if dtype is None and out is not None:
        dtype = out.dtype
    if axis is None and array.ndim > 1:
        array = raveled(what, array)
    made = accumulated(what, ufunc, array, 0 if axis is None else axis, dtype)
    if out is None:
        return made
    with collective(what, array._layout, str(dtype)):
        write(what, out, made)
        _native.barrier()
    return out
