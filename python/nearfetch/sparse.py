# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices whose rows are distributed over the ranks in blocks, in compressed sparse rows.

Names are those of `scipy.sparse`. Its matrices are accepted, but scipy is not needed. Non-zeros are the
stored indices; their values may be zero. Only the collective `add()` changes them.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any, NamedTuple, Optional, Sequence, Union

from nearfetch.arrays import BlockArray, DistributedArray
from nearfetch.elements import Elements, bytes_of, checked_dtype, view_of
from nearfetch.errors import Error, IndexingError
from nearfetch.gathering import Gather
from nearfetch.indexing import scattered, select
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import refuse
from nearfetch.prefetching import PrefetchPhase
from nearfetch.sparse_moves import rows_to_owners
from nearfetch.sparse_products import OwnProducts

__all__ = ["LocalRows", "SparseMatrix"]


class LocalRows(NamedTuple):
    """A rank's rows, as views: `scipy.sparse.csr_matrix(a.local, shape=a.local_shape)`.

    Row n has the non-zeros from indptr[n] up to, but not including, indptr[n + 1], sorted by column.
    """

    data: np.ndarray
    """The values of the non-zeros; writable."""
    indices: np.ndarray
    """Their columns."""
    indptr: np.ndarray
    """Start of each row, and the end of the last."""


class SparseMatrix(Elements):
    """A matrix in rows, of which each rank owns consecutive ones.

    >>> from nearfetch import launch, rank
    >>> def main():
    ...     own = SparseMatrix.rows_of(4)               # rank 0 has the rows 0 and 1, rank 1 the others
    ...     data = [2.0 * i for i in own]               # of one non-zero each, beside the diagonal
    ...     a = SparseMatrix((4, 5), (data, [i + 1 for i in own], [0, 1, 2]))
    ...     return a[3, 4], a[3, 3], a.nnz, (a @ np.arange(5)).tolist()
    >>> [(float(x), float(zero), *more) for x, zero, *more in launch(main, ranks=2)]
    [(6.0, 0.0, 4, [0.0, 4.0]), (6.0, 0.0, 4, [12.0, 24.0])]
    """

    def __init__(self, shape: Sequence[int], own: Any = None, dtype: Any = None) -> None:
        """Collective; each rank gives the non-zeros of its own rows (`rows_of`).

        `own`: `(data, indices, indptr)` as for `scipy.sparse.csr_matrix`, with one row per own row; or a
        scipy matrix of that shape; or None for no non-zeros. `dtype`: by default that of `data`, or float;
        of 1, 2, 4, 8 or 16 bytes.

        Raises Error for invalid arguments, for an index given twice, and for a shape or dtype that differs
        between ranks.
        """
        rows, columns = _shape_of(shape)
        self._own_rows = self.rows_of(rows)
        parts = _rows_of(own, (len(self._own_rows), columns), self._own_rows.start)
        self._dtype = checked_dtype(parts.data.dtype if dtype is None else dtype)
        self._lower, self._upper = [0, 0], [rows, columns]
        data = np.ascontiguousarray(parts.data, self._dtype)
        self._begin(
            _native.Sparse(
                self._dtype.itemsize,
                rows,
                columns,
                bytes_of(parts.indptr),
                bytes_of(parts.indices),
                bytes_of(data),
            )
        )
        self._agree_on_dtype()
        self._products = OwnProducts()

    @staticmethod
    def rows_of(rows: int, rank: Optional[int] = None) -> range:
        """The rows that a rank owns, of so many; by default this rank.

        >>> from nearfetch import launch
        >>> launch(lambda: SparseMatrix.rows_of(7), ranks=3)
        [range(0, 3), range(3, 5), range(5, 7)]
        """
        everyone = _native.ranks()
        who = _native.rank() if rank is None else operator.index(rank)
        if not 0 <= who < everyone:
            raise Error(
                f"the rows of rank {who} (the program has the ranks 0 to {everyone - 1}): use one of these"
            )
        return range(*_native.rows_of(who, _extent("rows", rows)))

    # Properties.

    @property
    def own_rows(self) -> range:
        """The rows that this rank owns."""
        return self._own_rows

    @property
    def nnz(self) -> int:
        """Non-zeros of all ranks together."""
        return self._native.non_zeros()

    @property
    def local_shape(self) -> tuple[int, int]:
        """The shape of this rank's rows."""
        return len(self._own_rows), self._upper[1]

    def __repr__(self) -> str:
        try:
            count = f", nnz={self.nnz}"
        except Error:  # the program has ended
            count = ""
        return f"SparseMatrix(shape={self.shape}, dtype={self._dtype}{count})"

    # Global view.

    # Python would otherwise iterate by numbers from 0.
    __iter__ = None
    __contains__ = None

    def __getitem__(self, key: Any) -> Any:
        """An element as a numpy scalar; 0 if the index is not stored. For many elements: `take()`.

        A slice gives a matrix of these rows, whose owners are other ranks then. That is collective.

        >>> from nearfetch import launch
        >>> def main():
        ...     own = SparseMatrix.rows_of(5)
        ...     a = SparseMatrix((5, 3), ([1.0 + i for i in own], [i % 3 for i in own], range(len(own) + 1)))
        ...     return a[::-2].toarray()[...].tolist()
        >>> launch(main, ranks=2)[1]
        [[0.0, 5.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]
        """
        if self._read(key):
            return self._element_read()
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        if not isinstance(rows, slice) or not isinstance(columns, slice) or columns != slice(None):
            _not_an_element()
        return self._rows(select(rows, self._lower, self._upper).ranges[0])

    def _rows(self, wanted: range) -> SparseMatrix:
        numbers = self._row_numbers() - wanted.start
        chosen = (numbers % wanted.step == 0) & (numbers // wanted.step >= 0)
        chosen &= numbers // wanted.step < len(wanted)
        own, shape = self.local, (len(wanted), self._upper[1])
        what = f"rows {wanted.start}:{wanted.stop}:{wanted.step} of a matrix"
        parts = numbers[chosen] // wanted.step, own.indices[chosen], own.data[chosen]
        return SparseMatrix(shape, rows_to_owners(what, shape[0], *parts), self._dtype)

    def _row_numbers(self) -> np.ndarray:
        """Of own non-zeros."""
        numbers = np.arange(self._own_rows.start, self._own_rows.stop)
        return np.repeat(numbers, np.diff(self.local.indptr))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes an element. Raises Error if the index is not stored."""
        self._cell[0] = value
        if not self._write(key):
            _not_an_element()

    def contains(self, index: Sequence[int]) -> bool:
        """Whether the index is stored."""
        return self._native.contains(self._element(index))

    # Own elements.

    @property
    def local(self) -> LocalRows:
        """This rank's rows, as views; `data` is writable. See `add()`."""
        starts, columns, values = self._native.local()
        return LocalRows(view_of(values, self._dtype), view_of(columns, np.int64), view_of(starts, np.int64))

    def row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The columns and values of an own row, as views. Raises Error for another rank's row."""
        at = operator.index(row)
        at = at + self._upper[0] if at < 0 else at
        if at not in self._own_rows:
            raise Error(
                f"row {row} (this rank has {self._own_rows.start} to {self._own_rows.stop - 1}): "
                "use one of these, or take() single elements"
            )
        own = self.local
        first, end = own.indptr[at - self._own_rows.start :][:2]
        return own.indices[first:end], own.data[first:end]

    def __matmul__(self, x: Any) -> np.ndarray:
        """This rank's rows of the product with a vector, in the layout of `local` of a `BlockArray`.

        `x` is a distributed array, `self.gather()` of one, as of its last `update()`, or a numpy vector.
        For a distributed array, `x.observe()` before the first product and `x.prefetch_observed()` after
        it fetch remote elements in a few messages from then on. Not collective. Raises Error for another
        size.

        >>> from nearfetch import BlockArray, barrier, launch, rank, ranks, statistics
        >>> def main():
        ...     n = 6                                           # ones beside the diagonal, in a circle
        ...     own = SparseMatrix.rows_of(n)
        ...     columns = [sorted([(i - 1) % n, (i + 1) % n]) for i in own]
        ...     ones, starts = np.ones(2 * len(own)), range(0, 2 * len(own) + 1, 2)
        ...     a = SparseMatrix((n, n), (ones, sum(columns, []), starts))
        ...     x = BlockArray(n)
        ...     x.local[...] = x.local_indices[0]
        ...     barrier()
        ...     x.observe()
        ...     for iteration in range(3):
        ...         before = statistics()["get_messages"]
        ...         y = a @ x
        ...         messages = statistics()["get_messages"] - before
        ...         if iteration == 0:
        ...             x.prefetch_observed(consistent=False)
        ...     return y.tolist(), messages
        >>> launch(main, ranks=2)
        [([6.0, 2.0, 4.0], 0), ([6.0, 8.0, 4.0], 0)]
        """
        own = self.local
        return self._products.multiply(own, self._checked_vector(x, len(own.indices)))

    dot = __matmul__

    def gather(self, x: DistributedArray) -> Gather:
        """Prepares products of this rank's rows with `x`: as `x.gather(self.local.indices)`.

        Each `update()` fetches the elements in one message from each owner; `self @ gathered` then reads
        nothing of `x`. Not collective. Raises Error unless `x` is a distributed array with one element per
        column. Make another one after `add()`.

        >>> from nearfetch import BlockArray, barrier, launch
        >>> def main():
        ...     own = SparseMatrix.rows_of(4)                   # the rows in reverse
        ...     a = SparseMatrix((4, 4), (np.ones(len(own)), [3 - i for i in own], range(len(own) + 1)))
        ...     x = BlockArray(4)
        ...     gathered = a.gather(x)
        ...     for power in (1, 2):
        ...         x.local[...] = x.local_indices[0] ** power
        ...         barrier()
        ...         gathered.update()
        ...         y = a @ gathered
        ...         barrier()
        ...     return y.tolist()
        >>> launch(main, ranks=2)
        [[9.0, 4.0], [1.0, 0.0]]
        """
        if not isinstance(x, DistributedArray):
            raise Error(
                f"gather from a {type(x).__name__} (it has all elements here): give a distributed array"
            )
        self._check_bounds(x)
        return x.gather(self.local.indices)

    def _checked_vector(self, x: Any, non_zeros: int) -> Any:
        """A vector with an element for each column, or for each own non-zero if it is a Gather."""
        if isinstance(x, Gather):
            if x.shape != (non_zeros,):
                raise Error(
                    f"the product of {non_zeros} own non-zeros with a Gather of shape {x.shape} (each "
                    "non-zero has its element): use what gather() of this matrix returns, after add() anew"
                )
            return x
        if isinstance(x, DistributedArray):
            self._check_bounds(x)
            return x
        vector = np.asarray(x)
        if vector.shape != (self._upper[1],):
            raise Error(
                f"the product of a matrix of {self._upper[1]} columns with a vector of shape {vector.shape} "
                "(each column has its element): use a vector of as many"
            )
        return vector

    def _check_bounds(self, x: DistributedArray) -> None:
        columns = self._upper[1]
        if x.bounds != ((0, columns),):
            raise Error(
                f"the product of a matrix of {columns} columns with an array of the bounds {x.bounds} "
                "(each column has its element): use a vector of as many"
            )

    def __eq__(self, other: object) -> bool:
        """Identity. Raises Error for operands that could be compared element by element."""
        if other is self:
            return True
        if isinstance(other, (Elements, numbers.Number, list, tuple)) or hasattr(other, "__array__"):
            raise Error(
                f"== of a {type(self).__name__} (its elements are not all here): compare what was read of "
                "it, or `local`; or use `is`"
            )
        return NotImplemented

    __hash__ = object.__hash__

    # The whole matrix.

    @property
    def T(self) -> SparseMatrix:
        """The transposed matrix: another one. Collective.

        >>> from nearfetch import launch
        >>> def main():
        ...     own = SparseMatrix.rows_of(3)
        ...     a = SparseMatrix((3, 4), ([1.0 + i for i in own], [i + 1 for i in own], range(len(own) + 1)))
        ...     return a.T.toarray()[...].tolist()
        >>> launch(main, ranks=2)[1]
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
        """
        own, (rows, columns) = self.local, self.shape
        turned = rows_to_owners("T", columns, own.indices, self._row_numbers(), own.data)
        return SparseMatrix((columns, rows), turned, self._dtype)

    def toarray(self) -> BlockArray:
        """The same elements in a dense array, of which each rank owns the same rows. Collective."""
        dense = BlockArray(self.shape, self._dtype, grid=(_native.ranks(), 1))
        own, elements = self.local, dense.local
        if elements.size:
            elements[self._row_numbers() - self._own_rows.start, own.indices] = own.data
        _native.barrier()
        return dense

    def add(self, indices: Any) -> None:
        """Adds indices with value zero. Collective.

        Each rank gives indices of its own rows, as in `take()`: `(rows, columns)`, two integers or integer
        arrays. Prefetched patterns are requested again. Raises Error for another rank's rows, and after a
        `static_domain` promise; in all ranks if a rank has a view of its part (`local`, `row()`), because
        elements move.

        >>> from nearfetch import launch
        >>> def main():
        ...     a = SparseMatrix((4, 3))
        ...     a.add((list(a.own_rows), 1))
        ...     a.local.data[...] = 7
        ...     a.add((a.own_rows[0], [0, 1, 2]))
        ...     return a.local.indptr.tolist(), a.local.indices.tolist(), a.local.data.tolist()
        >>> launch(main, ranks=2)[1]
        ([0, 3, 4], [0, 1, 2, 1], [0.0, 7.0, 0.0, 7.0])
        """
        rows, _ = scattered(_pair(indices), self._lower, self._upper)
        self._check_no_views("add")
        self._products = OwnProducts()
        self._native.add(bytes_of(rows))

    def prefetch_rows(
        self,
        table: Sequence[Sequence[Union[int, slice]]],
        *,
        consistent: bool = True,
        static_domain: bool = False,
        barrier: bool = True,
        later: bool = False,
    ) -> PrefetchPhase:
        """Prefetches whole rows: row r of `table` has the rows that rank r needs, as integers and slices.

        The table is the same on all ranks. Own rows and rows out of bounds are skipped.
        """
        return self.prefetch_custom(
            [[(key, slice(None)) for key in row] for row in table],
            consistent=consistent,
            static_domain=static_domain,
            barrier=barrier,
            later=later,
        )

    def sum(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """The sum of all elements, with numpy's dtype for it; the same on all ranks. Collective.

        Called by `np.sum(a)`. Raises Error for an `axis`, a `dtype` or an `out`.
        """
        for word, given in (("axis", axis), ("dtype", dtype), ("out", out)):
            if given is not None:
                raise Error(
                    f"sum with {word}={given!r} (it is one number, of all elements of all ranks): leave it "
                    "out, or use numpy on `local`"
                )
        return np.add.reduce(self._of_all_ranks("sum", np.asarray(self.local.data.sum()).reshape(1)))

    # numpy's functions. They would take a matrix for an object without elements.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **more: Any) -> Any:
        refuse(f"numpy.{ufunc.__name__}", inputs)

    def __array_function__(
        self, function: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        known = {np.sum: SparseMatrix.sum, np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim}
        if function not in known:
            refuse(f"numpy.{function.__name__}", args)
        return known[function](*args, **kwargs)


def _not_an_element() -> None:
    raise IndexingError(
        "an element of a sparse matrix (it is named by two whole numbers): use a[i, j], take() or local; "
        "a[i:j] for whole rows"
    )


def _pair(indices: Any) -> tuple[Any, ...]:
    return tuple(indices) if isinstance(indices, list) and len(indices) == 2 else indices


def _extent(what: str, number: Any) -> int:
    if not hasattr(number, "__index__") or not 0 <= operator.index(number) < 2**62:
        raise Error(f"a sparse matrix of {number!r} {what} (they are counted): use a whole number, 0 or more")
    return operator.index(number)


def _shape_of(shape: Any) -> tuple[int, int]:
    words = tuple(shape) if np.iterable(shape) else (shape,)
    if len(words) != 2:
        raise Error(f"a sparse matrix of shape {shape!r} (it has rows and columns): give two whole numbers")
    return _extent("rows", words[0]), _extent("columns", words[1])


def _rows_of(own: Any, shape: tuple[int, int], first: int) -> LocalRows:
    """A rank's rows, checked against `shape`. Its first row is row `first` of the matrix."""
    if own is None:
        return LocalRows(np.zeros(0), np.zeros(0, np.int64), np.zeros(shape[0] + 1, np.int64))
    if hasattr(own, "tocsr"):
        own = own.tocsr()
    given = getattr(own, "shape", None)
    if given is not None and tuple(given) != shape:
        raise Error(
            f"a sparse matrix: own rows of shape {tuple(given)} (this rank has {shape[0]} rows of {shape[1]} "
            "columns): give those of SparseMatrix.rows_of()"
        )
    try:
        parts = own if isinstance(own, (tuple, list)) else (own.data, own.indices, own.indptr)
        data, indices, indptr = (np.asarray(part) for part in parts)
    except (AttributeError, TypeError, ValueError):
        raise Error(
            f"a sparse matrix of a {type(own).__name__} (own rows are three arrays): give (data, indices, "
            "indptr) as for scipy.sparse.csr_matrix, or one of these"
        ) from None
    indptr, indices = _whole("indptr", indptr), _whole("indices", indices)
    if data.ndim != 1 or len(data) != len(indices):
        raise Error(
            f"a sparse matrix: data of shape {data.shape}, indices of shape {indices.shape} (each non-zero "
            "has a value and a column): give as many"
        )
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] > len(indices):
        raise Error(
            f"a sparse matrix: indptr of {len(indptr)} numbers, for {shape[0]} own rows and {len(indices)} "
            "non-zeros (it has where each row begins, from 0, and the end of the last one): "
            "give one more than own rows"
        )
    down = np.flatnonzero(np.diff(indptr) < 0)
    if down.size:
        raise Error(
            f"a sparse matrix: row {first + down[0]} ends before it begins (indptr goes from "
            f"{indptr[down[0]]} to {indptr[down[0] + 1]}): let it never decrease"
        )
    end = indptr[-1]
    if end and (indices[:end].min() < 0 or indices[:end].max() >= shape[1]):
        outside = np.flatnonzero((indices[:end] < 0) | (indices[:end] >= shape[1]))
        row = first + int(np.searchsorted(indptr, outside[0], "right")) - 1
        raise IndexingError(
            f"a sparse matrix: column {indices[outside[0]]} in row {row} (it has the columns 0 to "
            f"{shape[1] - 1}): use one of these"
        )
    return LocalRows(data[:end], np.ascontiguousarray(indices[:end]), indptr)


def _whole(what: str, given: np.ndarray) -> np.ndarray:
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise Error(
            f"a sparse matrix: {what} of {given.dtype} in {given.ndim} dimensions (rows and columns are "
            "counted): give a vector of whole numbers"
        )
    if given.dtype.kind == "u" and given.size and int(given.max()) >= 2**62:
        raise Error(f"a sparse matrix: {what} has {given.max()} (there are 62 bits): use smaller ones")
    return np.ascontiguousarray(given, np.int64)
