# SPDX-License-Identifier: Apache-2.0
"""numpy's protocols and methods of dense arrays (NEP 13 and NEP 18).

Operators and ufuncs work on own parts (`elementwise`). Reductions are collective (`reductions`), products
too (`products`). What would fetch all elements to each rank is refused (`numpy_registry`).
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Optional, Sequence

from nearfetch import numpy_functions as functions
from nearfetch import numpy_reductions as reductions
from nearfetch.cumulative import cumprod, cumsum
from nearfetch.dense import Dense
from nearfetch.diagonals import diagonal, trace
from nearfetch.elements import Elements
from nearfetch.elementwise import converted, elementwise
from nearfetch.errors import Error
from nearfetch.mapped import repeated
from nearfetch.numerical import np
from nearfetch.numpy_registry import call_function
from nearfetch.rearranging import reshaped, squeezed, transposed
from nearfetch.selecting import nonzero
from nearfetch.sorting import argsort

__all__ = ["NumpyMethods"]

_PREVIEW = 20  # elements; larger parts are abridged


class NumpyMethods(np.lib.mixins.NDArrayOperatorsMixin, Dense):
    """Operators, and the methods that arrays of numpy have.

    A new array is complete on all ranks when it is returned: what makes one is collective. `a += x` is
    what each rank does to its own elements; others see it after the next barrier.

    >>> from nearfetch import BlockArray, launch
    >>> def main():
    ...     a = BlockArray((4, 3), dtype=int)
    ...     a += np.arange(3)
    ...     b = np.where(a > 1, a, -1)
    ...     return b[3].tolist(), int(b.sum()), b.max(axis=1)[...].tolist(), float(a.mean())
    >>> launch(main, ranks=2)[1]
    ([-1, -1, 2], 0, [2, 2, 2, 2], 1.0)
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **more: Any) -> Any:
        for operand in (*inputs, *more.get("out", ())):
            handler = getattr(type(operand), "__array_ufunc__", None)
            if not (
                handler is None or handler is np.ndarray.__array_ufunc__ or isinstance(operand, Elements)
            ):
                return NotImplemented
        return functions.call_ufunc(ufunc, method, inputs, **more)

    def __array_function__(
        self, function: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        return call_function(function, args, kwargs)

    # What has no elements to compare is equal to no array, and an array stays a key of dictionaries.

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, super().__eq__, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, super().__ne__, other)

    __hash__ = object.__hash__

    def _compared(self, compare: Callable[..., Any], by_ufunc: Callable[..., Any], other: object) -> Any:
        if other is None or (isinstance(other, (str, bytes)) and self._dtype.kind not in "SU"):
            return NotImplemented
        # numpy's arrays compare structures, and its ufuncs do not.
        return elementwise(compare, (self, other)) if self._dtype.kind == "V" else by_ufunc(other)

    def __bool__(self) -> bool:
        """Of the only element. Raises ValueError, as numpy, if there are others or none."""
        if self.size != 1:
            raise ValueError(
                f"the truth value of an array of {self.size} elements is ambiguous: use a.any() or a.all()"
            )
        return bool(self[tuple(first for first, _ in self.bounds)])

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = f"shape={self.shape}" if not any(self._lower) else f"bounds={self.bounds}"
        head = f"{type(self).__name__}({where}, dtype={self._dtype}"
        try:
            own = np.array2string(self.local, threshold=_PREVIEW, prefix="    local=")
            return f"{head}, grid={self.grid},\n    local={own})"
        except Error:  # the program has ended
            return f"{head})"

    # Copies. Collective.

    def copy(self) -> Any:
        """A new array of the same layout with the same elements. Collective."""
        return np.copy(self)

    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        """A copy in another dtype; the array itself if it has that and `copy` is false. Collective."""
        if not copy and self._dtype == np.dtype(dtype):
            return self
        return converted("astype", self, dtype)

    @property
    def T(self) -> Any:
        """A copy with the dimensions in reverse order, unlike numpy's view. Collective.

        The grid is reversed, too. A rank reads what it is to own of its owners. A vector is returned as
        it is.
        """
        return transposed(self)

    def transpose(self, *axes: Any) -> Any:
        """As `T`, or with the dimensions in the order `axes`. Collective."""
        named = axes[0] if len(axes) == 1 and (axes[0] is None or np.iterable(axes[0])) else axes or None
        return transposed(self, named)

    # The same elements in another shape: copies. Collective.

    def reshape(self, *shape: Any) -> Any:
        """A copy in another shape, in blocks; -1 is the extent that is left. Collective.

        Elements keep their order by indices. A rank writes its own to their new owners. Raises Error for a
        shape of more or fewer elements.
        """
        return reshaped(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Any:
        """A copy as a vector in blocks, in the order of indices. Collective."""
        return np.ravel(self)

    flatten = ravel
    squeeze = squeezed
    diagonal = diagonal
    repeat = repeated

    # Element by element.

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Elements within limits, which may be arrays. Collective, as `np.clip`."""
        return np.clip(self, min, max, out=out)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Elements rounded to so many decimals. Collective."""
        return np.round(self, decimals, out=out)

    def conj(self) -> Any:
        """Conjugated elements. Collective."""
        return np.conjugate(self)

    # Reductions. Collective. Over all dimensions: a scalar, the same on all ranks; with `keepdims` a numpy
    # array. Over some: a distributed array of the remaining dimensions, on a balanced grid. They raise Error
    # for an `out` of another shape, IndexingError for an `axis` that is not there.

    sum = reductions.sum_
    prod = reductions.prod
    min = reductions.min_
    max = reductions.max_
    any = reductions.any_
    all = reductions.all_
    mean = reductions.mean_
    var = reductions.var
    std = reductions.std
    argmin = reductions.argmin
    argmax = reductions.argmax
    cumsum = cumsum
    cumprod = cumprod
    nonzero = nonzero
    argsort = argsort
    trace = trace
    dot = functions.dot

    # The array API standard.

    def __array_namespace__(self, api_version: Optional[str] = None) -> Any:
        """The functions of the array API standard that distributed arrays have: `nearfetch.array_api`.

        Raises ValueError for a version of the standard that is not known.
        """
        from nearfetch import array_api  # which needs the arrays

        array_api.check_version(api_version)
        return array_api

    @property
    def device(self) -> str:
        """Always "cpu"."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The array itself. Raises ValueError for another device than "cpu"."""
        if device != "cpu" or stream is not None:
            raise ValueError(f"an array on {device!r} (elements are in the memory of ranks): use 'cpu'")
        return self

    @property
    def mT(self) -> Any:
        """A copy with the last two dimensions exchanged. Collective."""
        return np.swapaxes(self, -1, -2)
