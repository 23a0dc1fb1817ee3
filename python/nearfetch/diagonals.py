# SPDX-License-Identifier: Apache-2.0
"""Diagonals of two dimensions, and their sums. Collective."""

from __future__ import annotations

from typing import Any

from nearfetch.dense import Dense
from nearfetch.errors import Error
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.rearranging import in_blocks, made_from, own_places, read_rows
from nearfetch.reductions import Over, axes_of, reduced

__all__ = ["diagonal", "trace"]


@implements(np.diagonal)
def diagonal(a: Dense, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Dense:
    """The elements whose indices differ by `offset` in two dimensions: a copy in blocks. Collective.

    These two are one dimension, which is the last one. A rank reads its own elements of the result, in two
    messages from each owner at most. Raises IndexingError for dimensions that are not there.
    """
    first, second = _two_axes("diagonal", a, axis1, axis2)
    begins = max(-offset, 0), max(offset, 0)
    count = max(0, min(a.shape[first] - begins[0], a.shape[second] - begins[1]))
    others = [at for at in range(a.ndim) if at not in (first, second)]

    def read(made: Dense) -> np.ndarray:
        *outer, along = np.ix_(*own_places(made))
        places = dict(zip(others, outer))
        places[first], places[second] = along + begins[0], along + begins[1]
        columns = np.broadcast_arrays(*(places[at] + a.bounds[at][0] for at in range(a.ndim)))
        found = read_rows(a, np.stack([one.reshape(-1) for one in columns], axis=1))
        return found.reshape(made.local.shape)

    layout = in_blocks([*(a.shape[at] for at in others), count])
    return made_from("diagonal", a, layout, read, offset, first, second)


@implements(np.trace)
def trace(
    a: Dense, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sums of `diagonal`: a scalar of a matrix, else a distributed array. Collective."""
    first, second = _two_axes("trace", a, axis1, axis2)

    def on_diagonal(own: np.ndarray) -> np.ndarray:
        rows, columns = (
            (a.local_indices[at] - a.bounds[at][0]).reshape(
                [-1 if axis == at else 1 for axis in range(a.ndim)]
            )
            for at in (first, second)
        )
        return np.where(rows + offset == columns, own, np.zeros((), own.dtype))

    over = Over(axis=(first, second), dtype=dtype, out=out)
    return reduced("trace", np.add, a, over, prepare=on_diagonal)


def _two_axes(what: str, array: Dense, axis1: int, axis2: int) -> tuple[int, int]:
    if array.ndim < 2:
        raise Error(f"{what} of a vector (a diagonal is of two dimensions): use an array that has them")
    (first,), (second,) = axes_of(array, axis1), axes_of(array, axis2)
    if first == second:
        raise Error(f"{what} with axis1={axis1} and axis2={axis2} (they are the same): name two of them")
    return first, second
