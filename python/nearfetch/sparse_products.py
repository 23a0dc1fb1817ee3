# SPDX-License-Identifier: Apache-2.0
"""Products of a rank's own rows with vectors: by scipy's routine where scipy is, else by numpy.

The elements of the vector that the rows need stand in one numpy array. Of a distributed vector these are the
rank's own elements, and after them one for each other column. Where the element of a non-zero stands is found
out once for each kind of vector.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from nearfetch.arrays import DistributedArray
from nearfetch.gathering import Gather
from nearfetch.numerical import np

if TYPE_CHECKING:
    from nearfetch.sparse import LocalRows

__all__ = ["OwnProducts"]

_SCIPYS_TYPES = "?bBhHiIlLqQfdgFDG"
_MOST_OF_32_BITS = 2**31 - 1
_TABLE_ENTRIES = 8  # for each column that is looked up in a table of all columns


class _Prepared(NamedTuple):
    """The rows for vectors of one kind."""

    kind: tuple[Any, ...]
    positions: Optional[np.ndarray]
    """For each non-zero, where the vector's element stands; None if that is its column."""
    others: np.ndarray
    """The columns whose elements follow the own part of a distributed vector."""
    matrix: Any
    """Scipy's matrix of these positions, without values; None without scipy."""


class OwnProducts:
    """Products of a matrix whose indices stay the same. It remembers the last kind of vector."""

    _prepared: Optional[_Prepared] = None

    def multiply(self, own: LocalRows, x: Any) -> np.ndarray:
        """The product of own rows with a vector that has an element for each column.

        `x` is a numpy vector, a distributed one, or a Gather of the rows' columns.
        """
        kind = _kind_of(x)
        prepared = self._prepared
        if prepared is None or prepared.kind != kind:
            prepared = self._prepared = _prepare(kind, own, x)
        vector = _vector(x, prepared)
        if prepared.matrix is None or not _suits_scipy(own.data) or not _suits_scipy(vector):
            return _by_numpy(own, vector[own.indices if prepared.positions is None else prepared.positions])
        matrix = prepared.matrix
        without = matrix.data
        matrix.data = own.data
        try:
            return matrix @ vector
        finally:
            # Own elements may move when nobody has a view of them.
            matrix.data = without


def _kind_of(x: Any) -> tuple[Any, ...]:
    """What the positions in vectors depend on."""
    if isinstance(x, Gather):
        return "gather", x
    if isinstance(x, DistributedArray):
        return "array", _own_range(x)
    return ("numpy",)


def _own_range(x: DistributedArray) -> range:
    """The rank's own indices; none if they are not at regular distances."""
    own = x._own_indices(0)
    return own if isinstance(own, range) else range(0)


def _vector(x: Any, prepared: _Prepared) -> np.ndarray:
    if isinstance(x, Gather):
        return x.elements
    if not isinstance(x, DistributedArray):
        return x
    own = x.local if prepared.kind[1] else np.empty(0, x.dtype)
    others = prepared.others
    return np.concatenate([own, x._take(others, others.shape)]) if others.size else own


def _prepare(kind: tuple[Any, ...], own: LocalRows, x: Any) -> _Prepared:
    positions, others = None, np.empty(0, np.int64)
    if isinstance(x, Gather):
        positions, extent = x.positions, x.elements.size
    elif isinstance(x, DistributedArray):
        positions, others = _split(own.indices, kind[1], x.size)
        extent = len(kind[1]) + others.size
    else:
        extent = x.size
    csr_array = _scipys_csr_array()
    if csr_array is None:
        return _Prepared(kind, positions, others, None)
    columns = own.indices if positions is None else positions
    dtype = np.int32 if max(extent, columns.size) <= _MOST_OF_32_BITS else np.int64
    parts = np.zeros(columns.size, np.int8), columns.astype(dtype), own.indptr.astype(dtype)
    matrix = csr_array(parts, shape=(len(own.indptr) - 1, extent))
    matrix.data = np.empty(0)
    return _Prepared(kind, None if positions is None else matrix.indices, others, matrix)


def _split(columns: np.ndarray, own: range, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of columns among the own indices and, after these, the other columns; and the latter."""
    positions, rest = np.divmod(columns - own.start, own.step)
    is_other = (rest != 0) | (positions < 0) | (positions >= len(own))
    others, numbers = _distinct(columns[is_other], extent)
    positions[is_other] = len(own) + numbers
    return positions, others


def _distinct(columns: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns, in order, and for each of `columns` its position in them."""
    if extent > _TABLE_ENTRIES * columns.size:
        return np.unique(columns, return_inverse=True)
    table = np.zeros(extent, np.int64)
    table[columns] = 1
    found = np.flatnonzero(table)
    table[found] = np.arange(found.size)
    return found, table[columns]


def _by_numpy(own: LocalRows, factors: np.ndarray) -> np.ndarray:
    """`factors` has the vector's element for each non-zero."""
    terms = own.data * factors
    product = np.zeros(len(own.indptr) - 1, terms.dtype)
    some = own.indptr[:-1] < own.indptr[1:]
    if terms.size:
        product[some] = np.add.reduceat(terms, own.indptr[:-1][some], dtype=terms.dtype)
    return product


def _suits_scipy(values: np.ndarray) -> bool:
    """Whether scipy multiplies such elements, with numpy's dtype for the product."""
    return values.dtype.char in _SCIPYS_TYPES and values.dtype.isnative


@functools.cache
def _scipys_csr_array() -> Any:
    """The class, or None without scipy."""
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return None
    return csr_array
