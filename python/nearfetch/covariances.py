# SPDX-License-Identifier: Apache-2.0
"""Covariances and correlations of variables: the same small numpy array on all ranks. Collective.

Each rank has all variables of some observations: of others an array goes there first. It adds up the products
of distances from its own means. They are combined as for a variance, in `reductions`.
"""

from __future__ import annotations

from typing import Any, Optional

from nearfetch.dense import Dense, checked_operand, collective, redistributed, shape_of
from nearfetch.errors import Error
from nearfetch.mapped import read_mapped
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements, refuse
from nearfetch.reductions import rows_of_all

__all__: list[str] = []


@implements(np.cov)
def _cov(
    m: Dense,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Optional[int] = None,
    *,
    dtype: Any = None,
) -> np.ndarray:
    return _covariances("cov", m, y, rowvar, dtype, int(not bias) if ddof is None else ddof)


@implements(np.corrcoef)
def _corrcoef(x: Dense, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    found = _covariances("corrcoef", x, y, rowvar, dtype, 1)
    if found.ndim == 0:
        return found / found
    deviations = np.sqrt(np.diag(found).real)
    found = found / deviations[:, np.newaxis] / deviations
    np.clip(found.real, -1, 1, out=found.real)
    if found.dtype.kind == "c":
        np.clip(found.imag, -1, 1, out=found.imag)
    return found


def _covariances(what: str, m: Any, y: Any, rowvar: bool, dtype: Any, ddof: float) -> np.ndarray:
    if not isinstance(m, Dense):
        refuse(f"numpy.{what} with y=")
    along = m.ndim - 1 if rowvar else 0
    y = checked_operand(what, y)
    y = y if y is None or isinstance(y, Dense) else np.asarray(y)
    other = () if y is None else shape_of(y)
    observations = m.shape[along]
    if m.ndim > 2 or len(other) > 2 or (other and other[-1 if rowvar else 0] != observations):
        raise Error(
            f"{what} of the shapes {m.shape} and {other} (variables have one observation each, "
            f"{observations}): give as many, in one or two dimensions"
        )
    kind = np.result_type(m.dtype, np.float64, *([] if y is None else [y.dtype]))
    kind = kind if dtype is None else np.dtype(dtype)
    layout = m._layout
    if m.ndim == 2 and m.grid[1 - along] > 1:
        grid = tuple(_native.ranks() if at == along else 1 for at in range(2))
        layout = layout.as_blocks()._replace(grid=grid)
    said = y._layout if isinstance(y, Dense) else other
    with collective(what, m._layout, str(m.dtype), said, rowvar, str(kind)):
        whole = redistributed(m, layout)
        _native.barrier()
        own = [_by_rows(whole.local, rowvar)]
        if y is not None:
            some = whole.local_indices[along] - whole.bounds[along][0]
            others = np.arange(shape_of(y)[0 if rowvar else -1])
            places = [some] if y.ndim == 1 else [others, some] if rowvar else [some, others]
            own.append(_by_rows(read_mapped(y, places), rowvar))
        count, products = _combined(what, m, np.concatenate(own).astype(kind))
    with np.errstate(divide="ignore", invalid="ignore"):  # as numpy, of too few observations
        return (products * np.true_divide(1, max(count - ddof, 0))).astype(kind).squeeze()


def _by_rows(values: np.ndarray, rowvar: bool) -> np.ndarray:
    """One row for each variable."""
    return values[np.newaxis] if values.ndim == 1 else values if rowvar else values.T


def _combined(what: str, array: Dense, own: np.ndarray) -> tuple[int, np.ndarray]:
    """How many observations all ranks have, and the products of distances from the means, added up."""
    variables, count = own.shape
    total = own.sum(axis=1)
    far = own - (total / max(count, 1))[:, np.newaxis]
    packed = np.concatenate([np.array([count], own.dtype), total, (far @ far.conj().T).reshape(-1)])
    everyone = rows_of_all(what, array, packed)
    counts, totals = everyone[:, 0].real, everyone[:, 1 : 1 + variables]
    products = everyone[:, 1 + variables :].sum(axis=0).reshape(variables, variables)
    every = int(counts.sum())
    apart = totals / np.maximum(counts, 1)[:, np.newaxis] - totals.sum(axis=0) / max(every, 1)
    return every, products + (apart.T * counts) @ apart.conj()
