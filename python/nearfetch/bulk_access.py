# SPDX-License-Identifier: Apache-2.0
"""Accesses to many elements of anybody at once, and atomic updates of elements. None is collective.

Own and prefetched elements are read in place. For the others each owner gets one request, which it answers;
what it has in a run or two is fetched or written without it. So a call takes at most two messages for each
owner, and for each 8 MiB of elements.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

from nearfetch.advanced import locate, places
from nearfetch.dense import Dense
from nearfetch.elements import bytes_of, view_of
from nearfetch.errors import Error
from nearfetch.indexing import scattered
from nearfetch.numerical import np
from nearfetch.reductions import axes_of

__all__ = ["ArrayTransfer", "BulkAccess"]

Index = Union[int, Sequence[int]]


class ArrayTransfer:
    """A get or put that runs while the rank computes; `with` waits at its end. For the rank's thread."""

    def __init__(self, native: Any, finish: Callable[[Any], Any]) -> None:
        """`finish` makes the result of the native side's task."""
        self._native = native
        self._finish = finish
        self._result: Any = None
        self._ended = False

    def test(self) -> bool:
        """Whether `wait()` would return at once."""
        return self._native.test()

    def wait(self) -> Any:
        """Waits for the end, and returns the result. An acquire. Raises Error if the access failed."""
        if not self._ended:
            self._native.wait()
            self._result = self._finish(self._native)
            self._ended = True
        return self._result

    @property
    def result(self) -> Any:
        """What `a[key]` gives, for a get; None for a put. Waits for it."""
        return self.wait()

    def __enter__(self) -> ArrayTransfer:
        return self

    def __exit__(self, kind: Optional[type], *exception: object) -> None:
        if kind is None:
            self.wait()


class BulkAccess(Dense):
    """What arrays have for many elements at once."""

    def take(self, indices: Any, axis: Optional[int] = None) -> np.ndarray:
        """Elements that integer arrays name.

        A tuple has an array for each dimension: as `numpy.asarray(a)[indices]`. One array is `numpy.take`:
        of the elements in index order, or of the indices of `axis`. A vector's elements are read as
        `a[indices]` does. `observe()` records them.

        Raises IndexingError out of bounds, and for an axis that is not there.

        >>> from nearfetch import BlockArray, barrier, launch
        >>> def main():
        ...     a = BlockArray((4, 5), dtype=int)
        ...     a.local[...] = np.add.outer(10 * a.local_indices[0], a.local_indices[1])
        ...     barrier()
        ...     return a.take(([0, 3, 3], [[1], [-1]])).tolist(), a.take([0, -1]).tolist()
        >>> launch(main, ranks=2)[1]
        ([[1, 31, 31], [4, 34, 34]], [0, 34])
        """
        if axis is not None:
            (known,) = axes_of(self, axis)
            return self[(slice(None),) * known + (np.asarray(indices),)]
        return self._take(*self._named(indices))

    def put(self, indices: Any, values: Any) -> None:
        """Writes `values` to the elements that `take(indices)` names, as `numpy.put` does.

        Values are repeated if they are fewer; without any nothing is written. Of an index that is named
        twice the last value counts. Raises IndexingError as `take()` does.
        """
        rows, shape = self._named(indices)
        given = np.asarray(_not_distributed(values))
        if given.size:
            values = self._values(shape, np.resize(given, shape))
            self._native.put([], [], [], bytes_of(rows), bytes_of(values))

    def accumulate(self, indices: Any, values: Any, op: str = "sum") -> None:
        """Updates elements by `values`: `sum`, `prod`, `min` or `max` of each and its value. Atomic.

        `indices` is a key of `a[...]`, and `values` broadcast to its shape. An index that is named twice is
        updated twice, as by `numpy.add.at`. Owners do it, in any order, and it is complete in the end.
        Integers wrap around; of bool, sum is "or". It is atomic with all ranks' accumulate(), fetch_add()
        and compare_and_swap(), and with no other access.

        Raises IndexingError for wrong indices, TypeError for values that numpy does not cast to the dtype by
        the rule "same_kind", Error for other operations, and for dtypes that have none.

        >>> from nearfetch import BlockArray, barrier, launch
        >>> def main():
        ...     a = BlockArray(6, dtype=int)
        ...     a.accumulate([0, 5, 5], [1, 10, 100])
        ...     barrier()
        ...     return a[...].tolist()
        >>> launch(main, ranks=2)[0]
        [2, 0, 0, 0, 0, 220]
        """
        rows, shape = places(indices, self._lower, self._upper)
        self._native.accumulate(bytes_of(rows), bytes_of(self._casted(shape, values)), op, self._kind())

    def fetch_add(self, index: Index, value: Any) -> Any:
        """Adds to an element, and returns what it was before. Atomic, as `accumulate()` is.

        It is a release and an acquire. Raises as `accumulate()` does.

        >>> from nearfetch import BlockArray, launch
        >>> def main():
        ...     next_task = BlockArray(1, dtype=int)
        ...     return [int(next_task.fetch_add(0, 1)) for _ in range(2)]
        >>> sorted(sum(launch(main, ranks=2), []))
        [0, 1, 2, 3]
        """
        known = self._element(index)
        cell = self._casted((1,), value)
        self._native.fetch_add(known, bytes_of(cell), self._kind())
        return cell[0]

    def compare_and_swap(self, index: Index, expected: Any, value: Any) -> Any:
        """Writes `value` to an element if that is `expected`; returns what it was. Atomic, as `accumulate()`.

        Their bytes are compared: 0.0 is not -0.0. It is a release and an acquire. Raises Error for dtypes
        with padding bytes.
        """
        if self._dtype.names is not None or self._dtype.char in "gG":
            raise Error(
                f"compare_and_swap of {self._dtype} (bytes are compared, and it may have padding): "
                "use a number of another dtype"
            )
        known = self._element(index)
        cells = np.concatenate([self._casted((1,), one) for one in (value, expected)])
        self._native.compare_and_swap(known, bytes_of(cells))
        return cells[0]

    def get_async(self, key: Any) -> ArrayTransfer:
        """Begins to read `a[key]`, in a task of the rank. A release; `wait()` is an acquire.

        Until then nobody evicts what is prefetched, or resizes the array. Where an MPI lets only one thread
        communicate, it is complete when this returns. Raises IndexingError as `a[key]` does.

        >>> from nearfetch import BlockArray, barrier, launch, rank
        >>> def main():
        ...     a = BlockArray(6, dtype=int)
        ...     a.put_async(slice(rank(), None, 2), rank()).wait()
        ...     barrier()
        ...     with a.get_async([5, 0]) as transfer:
        ...         own = a.local.sum()                     # meanwhile
        ...     return int(own), transfer.result.tolist()
        >>> launch(main, ranks=2)
        [(1, [1, 0]), (2, [1, 0])]
        """
        named = locate(key, self._lower, self._upper)
        elements = int(np.prod(named.shape, dtype=object))
        native = self._native.start_get(*named.where, elements * self._dtype.itemsize)

        def finish(task: Any) -> Any:
            found = np.array(view_of(task.elements(), self._dtype))
            return named.result(found)[()]

        return ArrayTransfer(native, finish)

    def put_async(self, key: Any, value: Any) -> ArrayTransfer:
        """Begins to write `a[key] = value`, as `get_async()` reads. The value is copied before it returns."""
        named = locate(key, self._lower, self._upper)
        values = named.packed(self._values(named.shape, value))
        return ArrayTransfer(self._native.start_put(*named.where, bytes_of(values)), lambda task: None)

    def _named(self, indices: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """The indices that the arguments of take() name, and their shape."""
        if isinstance(indices, tuple) or self.ndim == 1:
            return scattered(indices, self._lower, self._upper)
        rows, shape = scattered(indices, [0], [self.size])
        known = np.unravel_index(rows[:, 0], self.shape) if rows.size else [rows[:, 0]] * self.ndim
        return np.stack([one + first for one, first in zip(known, self._lower)], axis=1), shape

    def _values(self, shape: tuple[int, ...], values: Any) -> np.ndarray:
        """What is written: broadcast and converted as numpy does in an assignment."""
        made = np.empty(shape, self._dtype)
        made[...] = _not_distributed(values)
        return made

    def _casted(self, shape: tuple[int, ...], values: Any) -> np.ndarray:
        """The same, where numpy's functions convert values: by the rule "same_kind"."""
        made = np.empty(shape, self._dtype)
        np.copyto(made, values)
        return made

    def _kind(self) -> str:
        # The native side computes with numbers in native byte order.
        return self._dtype.kind if self._dtype.isnative else "V"


def _not_distributed(values: Any) -> Any:
    """Raises Error for a distributed array: what is written is fetched first, and nothing says so."""
    if isinstance(values, Dense):
        raise Error(
            f"values in a {type(values).__name__} (this rank would fetch all of it): use np.asarray() of it, "
            "or a[...] = values in all ranks"
        )
    return values
