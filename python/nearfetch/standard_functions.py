# SPDX-License-Identifier: Apache-2.0
"""Functions of the array API standard whose arguments are not numpy's. `array_api` has all of them."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

from nearfetch import constructors
from nearfetch.arrays import BlockArray
from nearfetch.dense import Dense
from nearfetch.elementwise import converted
from nearfetch.numerical import np
from nearfetch.reductions import axes_of

__all__ = [
    *(
        "arange",
        "asarray",
        "astype",
        "clip",
        "cumulative_prod",
        "cumulative_sum",
        "empty",
        "empty_like",
        "eye",
    ),
    *("finfo", "full", "full_like", "iinfo", "isdtype", "linspace", "matrix_transpose", "ones", "ones_like"),
    *("argsort", "sort", "std", "unique_counts", "unique_values", "var", "vecdot", "zeros", "zeros_like"),
]

Shape = Union[int, Sequence[int]]

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
"""The standard's words, and numpy's letters."""


def check_device(device: Optional[str]) -> None:
    """Raises ValueError for another device than "cpu"."""
    if device not in (None, "cpu"):
        raise ValueError(f"an array on {device!r} (elements are in the memory of ranks): use 'cpu'")


# Dtypes.


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: one of the standard's words, a dtype, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if not isinstance(kind, str):
        return np.dtype(dtype) == np.dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"isdtype of the kind {kind!r} (there are {', '.join(KINDS)}): use one of these")
    return np.dtype(dtype).kind in KINDS[kind]


def finfo(type: Any, /) -> Any:
    """Limits of a dtype of floating-point numbers, or of an array's."""
    return np.finfo(_dtype_of(type))


def iinfo(type: Any, /) -> Any:
    """Limits of a dtype of whole numbers, or of an array's."""
    return np.iinfo(_dtype_of(type))


def _dtype_of(known: Any) -> Any:
    return known.dtype if isinstance(known, (Dense, np.ndarray)) else known


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Optional[str] = None) -> Any:
    """A copy in another dtype; the array itself if it has that and `copy` is false."""
    check_device(device)
    if not copy and x.dtype == np.dtype(dtype):
        return x
    return converted("astype", x, dtype) if isinstance(x, Dense) else np.asarray(x).astype(dtype)


# New arrays: in blocks.


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Optional[str] = None, copy: Optional[bool] = None
) -> Any:
    """A distributed array as it is, or converted; a new one of a numpy array or a list, which all ranks have.

    Raises ValueError for `copy=False` where a copy is made.
    """
    check_device(device)
    if isinstance(obj, Dense):
        same = dtype is None or obj.dtype == np.dtype(dtype)
        if same and not copy:
            return obj
    elif np.ndim(obj) == 0:
        return np.array(obj, dtype)
    if copy is not None and not copy:
        raise ValueError("asarray without a copy (elements go to the ranks that own them): leave copy out")
    if isinstance(obj, Dense):
        return converted("asarray", obj, dtype or obj.dtype)
    return constructors.from_numpy(np.asarray(obj, dtype))


def zeros(shape: Shape, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """Zeros."""
    return full(shape, 0.0 if dtype is None else 0, dtype=dtype, device=device)


empty = zeros


def ones(shape: Shape, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """Ones."""
    return full(shape, 1.0 if dtype is None else 1, dtype=dtype, device=device)


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """One value, in its dtype unless another is given."""
    check_device(device)
    value = np.asarray(fill_value, dtype)
    if shape == ():
        return value
    array = BlockArray(shape, value.dtype)
    array.fill(value[()])
    return array


def zeros_like(x: Any, /, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """Zeros in the layout of `x`."""
    check_device(device)
    return np.zeros_like(x, dtype=dtype)


def empty_like(x: Any, /, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """The same as `zeros_like`."""
    return zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """Ones in the layout of `x`."""
    check_device(device)
    return np.ones_like(x, dtype=dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Optional[str] = None) -> Any:
    """One value in the layout of `x`."""
    check_device(device)
    return np.full_like(x, fill_value, dtype=dtype)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Optional[str] = None
) -> Any:
    """Numbers from `start` up to `stop`, without it; of one argument, from 0."""
    check_device(device)
    return constructors.arange(start, stop, step, dtype=dtype)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Optional[str] = None,
    endpoint: bool = True,
) -> Any:
    """`num` numbers at equal distances."""
    check_device(device)
    return constructors.linspace(start, stop, num, endpoint, dtype)


def eye(
    n_rows: int,
    n_cols: Optional[int] = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Optional[str] = None,
) -> Any:
    """Ones on a diagonal."""
    check_device(device)
    kind = np.dtype(float if dtype is None else dtype)

    def ones_at(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (j - i == k).astype(kind)

    return constructors.from_function(ones_at, (n_rows, n_rows if n_cols is None else n_cols), dtype=int)


# numpy's functions by other arguments.


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Elements within limits."""
    return np.clip(x, min, max)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance."""
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of each element and all before it; with `include_initial` 0 before them."""
    return _cumulative(np.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: Optional[int] = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of each element and all before it; with `include_initial` 1 before them."""
    return _cumulative(np.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(
    function: Any, initial: int, x: Any, axis: Optional[int], dtype: Any, include_initial: bool
) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError(f"cumulative functions of {x.ndim} dimensions (they are of one): give axis=")
    (along,) = axes_of(x, 0 if axis is None else axis)
    found = function(x, axis=along, dtype=dtype)
    if not include_initial:
        return found
    shape = [1 if at == along else extent for at, extent in enumerate(x.shape)]
    return np.concatenate([np.full(shape, initial, found.dtype), found], axis=along)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Elements in order along an axis."""
    ordered = np.sort(x, axis=axis)
    return np.flip(ordered, axis) if descending else ordered


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices of elements in order along an axis; equal elements keep their order."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    turned = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - turned


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


def unique_values(x: Any, /) -> Any:
    """Distinct elements in order. NaN are distinct."""
    return np.unique(x, equal_nan=False)


def unique_counts(x: Any, /) -> UniqueCounts:
    """Distinct elements in order, and how often each is there."""
    return UniqueCounts(*np.unique(x, return_counts=True, equal_nan=False))


def matrix_transpose(x: Any, /) -> Any:
    """The last two dimensions exchanged."""
    return np.swapaxes(x, -1, -2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors along an axis; those of `x1` are conjugated."""
    return np.sum(np.multiply(np.conjugate(x1), x2), axis=axis)
