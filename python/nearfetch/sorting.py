# SPDX-License-Identifier: Apache-2.0
"""Sorted elements, and what follows from their order: quantiles and distinct values. Collective.

A vector is sorted by regular sampling (Shi and Schaeffer, *Parallel Sorting by Regular Sampling*, 1992). Each
rank sorts its own part. Samples of all parts give the limits between the ranks. Each rank reads what is
between its limits, sorts that, and writes it to its place. Equal elements are told apart by their indices:
so a rank gets at most about twice its share, whatever the elements, and the order is stable. Along an axis
of several dimensions each rank gets whole rows, and sorts them.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from nearfetch.dense import BLOCK, ArrayLayout, Dense, collective, new_array, redistributed
from nearfetch.elementwise import elementwise
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.rearranging import in_blocks, raveled
from nearfetch.reductions import axes_of, rows_of_all
from nearfetch.selecting import masked

__all__ = ["argsort", "sort"]


@implements(np.sort)
def sort(a: Dense, axis: Optional[int] = -1, kind: Any = None, *, stable: Any = None) -> Dense:
    """The elements in order along an axis; with `axis=None` all of them, as a vector. Collective.

    >>> from nearfetch import BlockArray, launch
    >>> def main():
    ...     a = BlockArray(5)
    ...     a += [3, 1, 2, 1, 0]
    ...     return np.sort(a)[...].tolist(), np.argsort(a)[...].tolist()
    >>> launch(main, ranks=2)[1]
    ([0.0, 1.0, 1.0, 2.0, 3.0], [4, 1, 3, 2, 0])
    """
    return _sorted("sort", a, axis, np.sort)


@implements(np.argsort)
def argsort(a: Dense, axis: Optional[int] = -1, kind: Any = None, *, stable: Any = None) -> Dense:
    """The indices of the elements in order, counted from 0; equal elements keep their order. Collective."""
    return _sorted("argsort", a, axis, np.argsort)


def _sorted(what: str, array: Dense, axis: Optional[int], function: Callable[..., Any]) -> Dense:
    by_index = function is np.argsort
    if axis is None and array.ndim > 1:
        return argsort(raveled(what, array)) if by_index else _values_in_order(what, array)
    _check_order(what, array)
    (along,) = axes_of(array, 0 if axis is None else axis)
    with collective(what, array._layout, str(array.dtype), along):
        if array.ndim > 1:
            dtype = function(np.empty(0, array.dtype)).dtype
            made = _along(array, along, lambda own: function(own, axis=along, kind="stable"), dtype)
        elif by_index:
            blocks = redistributed(array, array._layout.as_blocks())
            places = blocks.local_indices[0] - array.bounds[0][0]
            made = _in_order(what, blocks._layout, [blocks.local, places])
        else:
            made = _in_order(what, array._layout.as_blocks(), [array.local])
        return redistributed(made, array._layout)


def _values_in_order(what: str, array: Dense) -> Dense:
    """All elements, as a vector in blocks with indices from 0. Collective."""
    _check_order(what, array)
    with collective(what, array._layout, str(array.dtype)):
        return _in_order(what, in_blocks((array.size,)), [array.local.reshape(-1)])


def _check_order(what: str, array: Dense) -> None:
    if array.dtype.kind not in "biufcmMSU":
        raise Error(f"{what} of {array.dtype} (its elements have no order): sort a field of them")


def _along(
    array: Dense, axis: int, function: Callable[[np.ndarray], np.ndarray], dtype: Any, keeps: bool = True
) -> Dense:
    """`function` of whole rows along an axis. It keeps the shape, or removes the axis. In a collective."""
    layout = array._layout
    if layout.grid[axis] > 1:
        others = [at for at in range(array.ndim) if at != axis]
        grid = [1] * array.ndim
        for at, extent in zip(others, _native.balanced_grid(len(others))):
            grid[at] = extent
        layout = layout.as_blocks()._replace(grid=tuple(grid))
    whole = redistributed(array, layout)
    wanted = layout if keeps else layout.in_order([at for at in range(array.ndim) if at != axis])
    made = new_array(wanted, dtype)
    if made.local.size:
        made.local[...] = function(whole.local)
    _native.barrier()
    return made


def _in_order(what: str, layout: ArrayLayout, columns: list[np.ndarray]) -> Dense:
    """The last of the own columns in the order of the first one, over all ranks, as a vector in blocks."""
    rank, ranks = _native.rank(), _native.ranks()
    made = new_array(layout, columns[-1].dtype)
    lengths = rows_of_all(what, made, np.array([columns[0].size]))[:, 0]
    columns = _sorted_by_first(columns)
    run = columns[0]
    each_rank = ArrayLayout(BLOCK, ((0, ranks), (0, int(lengths.max()))), (ranks, 1), ())
    runs = [new_array(each_rank, column.dtype) for column in columns]
    for one, column in zip(runs, columns):
        one.local[0, : run.size] = column
    cuts = rows_of_all(what, made, _cuts(what, made, run, lengths))
    _native.barrier()
    pieces = [(at, slice(int(one[rank]), int(one[rank + 1]))) for at, one in enumerate(cuts)]
    taken = [np.concatenate([one[piece] for piece in pieces]) for one in runs]
    place = layout.bounds[0][0] + int(cuts[:, rank].sum())
    made[place : place + taken[0].size] = _sorted_by_first(taken)[-1]
    _native.barrier()
    return made


def _sorted_by_first(columns: list[np.ndarray]) -> list[np.ndarray]:
    if len(columns) == 1:
        return [np.sort(columns[0])]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]


def _cuts(what: str, array: Dense, run: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Where the own run is cut: from cut r up to cut r + 1 it goes to rank r."""
    rank, ranks = _native.rank(), _native.ranks()
    at = np.arange(ranks) * lengths[:, np.newaxis] // ranks
    samples = rows_of_all(what, array, run[at[rank]] if run.size else np.zeros(ranks, run.dtype))
    some = lengths > 0
    if not some.any():
        return np.zeros(ranks + 1, np.int64)
    # In the order of ranks and positions, so that a stable sort tells equal ones apart by these.
    values, positions = samples[some].reshape(-1), at[some].reshape(-1)
    origins = np.repeat(np.flatnonzero(some), ranks)
    order = np.argsort(values, kind="stable")
    cuts = [0]
    for number in order[np.arange(1, ranks) * len(order) // ranks]:
        side = "right" if rank < origins[number] else "left"
        is_own = origins[number] == rank
        cuts.append(int(positions[number] if is_own else np.searchsorted(run, values[number], side)))
    return np.array([*cuts, run.size], np.int64)


@implements(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None or (isinstance(a, Dense) and isinstance(v, Dense)):
        raise Error(
            "searchsorted with sorter=, or of distributed values in a distributed array (where a value "
            "belongs is known to other ranks): use np.asarray() of one of them"
        )
    if isinstance(v, Dense):

        def searchsorted(own: np.ndarray) -> np.ndarray:
            return np.searchsorted(a, own, side)

        return elementwise(searchsorted, [v])
    if a.ndim != 1:
        raise Error(f"searchsorted in {a.ndim} dimensions (a vector is in order): use a.ravel()")
    own = np.asarray(np.searchsorted(a.local, v, side))  # parts of an ordered vector are in order
    with collective("searchsorted", a._layout, str(a.dtype), side, own.shape):
        return rows_of_all("searchsorted", a, own).sum(axis=0)


# Distinct values.


@implements(np.unique)
def _unique(ar: Dense, *, return_counts: bool = False, equal_nan: bool = True) -> Any:
    ordered = _values_in_order("unique", ar)
    with collective("unique", ordered._layout, str(ordered.dtype)):
        is_first = new_array(ordered._layout, bool)
        own, (at,) = ordered.local, ordered.local_indices
        if own.size:
            before = own[:1] if at[0] == 0 else ordered[int(at[0]) - 1 : int(at[0])]
            before = np.concatenate([before, own[:-1]])
            is_first.local[...] = before != own
            if equal_nan and own.dtype.kind in "fc":
                is_first.local[...] &= ~(np.isnan(before) & np.isnan(own))
            if at[0] == 0:
                is_first.local[0] = True
        _native.barrier()
    found = masked(ordered, is_first)
    if not return_counts:
        return found
    (places,) = np.nonzero(is_first)
    return found, np.diff(np.concatenate([places, [ordered.size]]))


# Quantiles.


@implements(np.median)
def _median(a: Dense, axis: Optional[int] = None, *, keepdims: bool = False) -> Any:
    return _quantiles("median", a, 0.5, axis, keepdims, np.median)


@implements(np.quantile)
def _quantile(a: Dense, q: Any, axis: Optional[int] = None, *, keepdims: bool = False) -> Any:
    return _quantiles("quantile", a, q, axis, keepdims)


@implements(np.percentile)
def _percentile(a: Dense, q: Any, axis: Optional[int] = None, *, keepdims: bool = False) -> Any:
    return _quantiles("percentile", a, np.true_divide(q, 100), axis, keepdims)


def _quantiles(
    what: str, array: Dense, q: Any, axis: Optional[int], keepdims: bool, function: Any = None
) -> Any:
    """`function`: of numpy, of an array and an axis; by default its quantile."""
    shares = np.asarray(q, float)
    if array.dtype.kind not in ("iufc" if function else "iuf"):
        raise Error(f"{what} of {array.dtype} (its elements are numbers in an order): convert them")
    if not array.size or not ((shares >= 0) & (shares <= 1)).all():
        raise Error(
            f"{what} of {array.size} elements at {q} (there is one at least, and shares are from 0 to 1, "
            "percentages to 100): use such"
        )

    def of_own(own: np.ndarray, along: Optional[int]) -> np.ndarray:
        return function(own, axis=along) if function else np.quantile(own, shares, axis=along)

    dtype = of_own(np.zeros(1, array.dtype), None).dtype
    if axis is None or array.ndim == 1:
        axes_of(array, axis)
        found = _of_all(what, array, shares, dtype)
        return np.reshape(found, (*shares.shape, *[1] * array.ndim)) if keepdims else found
    if shares.ndim or keepdims:
        raise Error(
            f"{what} of rows with keepdims or at several shares (it gives one for each): leave it out"
        )
    (along,) = axes_of(array, axis)
    with collective(what, array._layout, str(array.dtype), along, float(shares)):
        return _along(array, along, lambda own: of_own(own, along), dtype, keeps=False)


def _of_all(what: str, array: Dense, shares: np.ndarray, dtype: np.dtype) -> Any:
    """By linear interpolation between the two elements around each place."""
    ordered, last = _values_in_order(what, array), array.size - 1
    places = shares * last
    below = np.floor(places).astype(np.int64)
    named = np.stack([below, np.minimum(below + 1, last), np.full_like(below, last)])
    lower, upper, largest = ordered.take(named).astype(dtype)
    found = np.where(places == below, lower, lower + (upper - lower) * (places - below))
    # NaN is the largest.
    return np.where(largest != largest, largest, found).astype(dtype)[()]
