# SPDX-License-Identifier: Apache-2.0
"""The functions of the array API standard (https://data-apis.org/array-api) for distributed arrays.

`a.__array_namespace__()` is this module, so libraries that are written for the standard find it. It has no
function that would fetch all of an array to each rank: a name that is missing is an AttributeError. What has
no dimensions is one of numpy, the same in all ranks. New arrays are in blocks. What makes or reduces an
array is collective.
"""

from __future__ import annotations

from typing import Any, NoReturn, Optional

from nearfetch import standard_functions
from nearfetch.numerical import np
from nearfetch.standard_functions import *  # noqa: F403
from nearfetch.standard_functions import check_device

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SAME = _names("""
abs add bitwise_and bitwise_or bitwise_xor ceil copysign cos cosh divide equal exp expm1 floor floor_divide
greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive
real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc
all any argmax argmin broadcast_arrays broadcast_shapes broadcast_to can_cast count_nonzero diff expand_dims
flip isin matmul max mean min moveaxis nonzero prod repeat reshape result_type roll searchsorted squeeze stack
sum tensordot tile where
""")
"""numpy's, which distributed arrays have by its protocols."""

_OTHERWISE = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bool": "bool_",
    "concat": "concatenate",
    "conj": "conjugate",
    "permute_dims": "transpose",
    "pow": "power",
}
"""Those that earlier versions of numpy have by other names only."""

_DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")

globals().update({name: getattr(np, name) for name in (*_SAME, *_DTYPES, *_CONSTANTS)})
globals().update({name: getattr(np, numpys) for name, numpys in _OTHERWISE.items()})

__all__ = [*_SAME, *_OTHERWISE, *_DTYPES, *_CONSTANTS, *standard_functions.__all__]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'nearfetch.array_api' has no attribute '{name}' (it would fetch all of an array to each "
        "rank, or is no name of the standard): use numpy's function of np.asarray(a)"
    )


def check_version(version: Optional[str]) -> None:
    """Raises ValueError for a version of the standard that this module does not follow."""
    if version is not None and version not in _VERSIONS:
        raise ValueError(f"version {version} of the array API (there are {', '.join(_VERSIONS)}): use one")


class __array_namespace_info__:  # noqa: N801 - the standard's name
    """What the standard asks a namespace about itself."""

    def capabilities(self) -> dict[str, Any]:
        """By the standard's words."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 4}

    def default_device(self) -> str:
        """Always "cpu"."""
        return "cpu"

    def devices(self) -> list[str]:
        """One."""
        return ["cpu"]

    def default_dtypes(self, *, device: Optional[str] = None) -> dict[str, np.dtype]:
        """Those of numpy."""
        check_device(device)
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": np.intp}
        return {kind: np.dtype(dtype) for kind, dtype in kinds.items()}

    def dtypes(self, *, device: Optional[str] = None, kind: Any = None) -> dict[str, np.dtype]:
        """Those of a kind, or of several, by their names."""
        check_device(device)
        known = {name: np.dtype(name) for name in ("bool", *_DTYPES)}
        return {
            name: one for name, one in known.items() if kind is None or standard_functions.isdtype(one, kind)
        }
