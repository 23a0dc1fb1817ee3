# SPDX-License-Identifier: Apache-2.0
"""Operations of numpy on distributed arrays: what each is, and what it may move.

The same expression runs on distributed arrays and on numpy's. `numpy_table_checks.py` compares them.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple

import numpy as np

OWN = "works on own parts: moves no byte"
SCALARS = "collective: one element of each rank, or a few"
PARTS = "collective: each rank fetches what its own part of the result needs"
PRODUCTS = "collective: each rank fetches the rows and columns that its block of the product needs"
MOVED = "collective: each rank moves its own part of the result, or of the array"
TWICE = "collective: each rank moves its own part twice, as whole rows of it and back"
NAMED = "one-sided: the elements that are named"
REFUSED = "refused, with a remedy"


class Operation(NamedTuple):
    """One row."""

    kind: str
    title: str
    call: Callable[[Any], Any]
    writes: bool = False
    """Its result was there before: it is complete after the next barrier."""


def _changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        copied = x.a.copy()
        change(copied)
        return copied

    return call


def _in_place(operation: Callable[[Any, Any], Any], name: str) -> Callable[[Any], Any]:
    return lambda x: operation(x.a.copy(), getattr(x, name))


def _where(x: Any) -> Any:
    return np.add(x.a, x.b, out=np.zeros_like(x.a), where=x.mask)


def _copyto(x: Any) -> Any:
    copied = np.zeros_like(x.a)
    np.copyto(copied, x.a, where=x.mask)
    return copied


def _assigned(
    key: Any, value: Callable[[Any], Any], to: Callable[[Any], Any] = lambda x: x.a
) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        copied = to(x).copy()
        copied[key] = value(x)
        return copied

    return call


def _assigned_where(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: _assigned(x.mask, value)(x)


def _with_out(call: Callable[..., Any], dtype: Any = None) -> Callable[[Any], Any]:
    return lambda x: call(x, out=np.zeros_like(call(x), dtype=dtype))


def _rows(x: Any) -> Any:
    return x.a if x.a.ndim > 1 else x.m


def _with_nan(x: Any) -> Any:
    return np.where(x.a == 4, np.nan, x.a)


# x.a, x.b: of one layout; x.c: of another one; x.n, x.row: numpy arrays of their shape and of its last
# extent; x.mask: a boolean array. x.v, x.w: vectors; x.m, x.k, x.y: matrices that can be multiplied, and
# a numpy vector for them. All are of one dtype. x.other: the vector x.v in another layout; x.s: a square one;
# x.ordered: x.v in order; x.few: three rows of as many; x.rows: whole rows in each rank.
TABLE = [
    Operation(OWN, "np.add(a, 1)", lambda x: np.add(x.a, 1)),
    Operation(OWN, "a + b", lambda x: x.a + x.b),
    Operation(OWN, "a + numpy", lambda x: x.a + x.n),
    Operation(OWN, "numpy + a", lambda x: x.n + x.a),
    Operation(OWN, "a + numpy row", lambda x: x.a + x.row),
    Operation(OWN, "a + list", lambda x: x.a + x.row.tolist()),
    Operation(OWN, "a - 2.5", lambda x: x.a - 2.5),
    Operation(OWN, "3 - a", lambda x: 3 - x.a),
    Operation(OWN, "a * b", lambda x: x.a * x.b),
    Operation(OWN, "a / b", lambda x: x.a / x.b),
    Operation(OWN, "a // b", lambda x: x.a // x.b),
    Operation(OWN, "a % b", lambda x: x.a % x.b),
    Operation(OWN, "a ** 2", lambda x: x.a**2),
    Operation(OWN, "2 ** a", lambda x: 2.0**x.a),
    Operation(OWN, "divmod(a, b)", lambda x: divmod(x.a, x.b)),
    Operation(OWN, "-a", lambda x: -x.a),
    Operation(OWN, "+a", lambda x: +x.a),
    Operation(OWN, "abs(a)", lambda x: abs(x.a)),
    Operation(OWN, "~mask", lambda x: ~x.mask),
    Operation(OWN, "a & b", lambda x: x.a & x.b),
    Operation(OWN, "a | b", lambda x: x.a | x.b),
    Operation(OWN, "a ^ b", lambda x: x.a ^ x.b),
    Operation(OWN, "a << 1", lambda x: x.a << 1),
    Operation(OWN, "a >> 1", lambda x: x.a >> 1),
    Operation(OWN, "a == b", lambda x: x.a == x.b),
    Operation(OWN, "a != numpy", lambda x: x.a != x.n),
    Operation(OWN, "a < 4", lambda x: x.a < 4),
    Operation(OWN, "a <= b", lambda x: x.a <= x.b),
    Operation(OWN, "a > b", lambda x: x.a > x.b),
    Operation(OWN, "4 >= a", lambda x: np.greater_equal(4, x.a)),
    Operation(OWN, "a += 1", _in_place(operator.iadd, "one"), True),
    Operation(OWN, "a -= b", _in_place(operator.isub, "b"), True),
    Operation(OWN, "a *= numpy", _in_place(operator.imul, "n"), True),
    Operation(OWN, "a /= b", _in_place(operator.itruediv, "b"), True),
    Operation(OWN, "a **= 2", _changed(lambda a: operator.ipow(a, 2)), True),
    Operation(OWN, "out=", lambda x: np.multiply(x.a, x.b, out=np.empty_like(x.a)), True),
    Operation(OWN, "out= where=", _where, True),
    Operation(OWN, "where= numpy", lambda x: np.add(x.a, 1, where=x.n == x.n)),
    Operation(OWN, "dtype=", lambda x: np.add(x.a, x.b, dtype="c16")),
    Operation(OWN, "np.sqrt", lambda x: np.sqrt(x.a)),
    Operation(OWN, "np.exp", lambda x: np.exp(x.a)),
    Operation(OWN, "np.log1p", lambda x: np.log1p(x.a)),
    Operation(OWN, "np.sin", lambda x: np.sin(x.a)),
    Operation(OWN, "np.arctan2", lambda x: np.arctan2(x.a, x.b)),
    Operation(OWN, "np.hypot", lambda x: np.hypot(x.a, 3)),
    Operation(OWN, "np.maximum", lambda x: np.maximum(x.a, x.b)),
    Operation(OWN, "np.fmin", lambda x: np.fmin(x.a, 3)),
    Operation(OWN, "np.isnan", lambda x: np.isnan(x.a)),
    Operation(OWN, "np.isfinite", lambda x: np.isfinite(x.a)),
    Operation(OWN, "np.sign", lambda x: np.sign(x.a)),
    Operation(OWN, "np.floor", lambda x: np.floor(x.a)),
    Operation(OWN, "np.conjugate", lambda x: np.conjugate(x.a)),
    Operation(OWN, "np.logical_and", lambda x: np.logical_and(x.a, x.mask)),
    Operation(OWN, "np.modf", lambda x: np.modf(x.a)),
    Operation(OWN, "np.where", lambda x: np.where(x.mask, x.a, 0)),
    Operation(OWN, "np.where numpy", lambda x: np.where(x.n == 3, x.a, x.b)),
    Operation(OWN, "np.clip", lambda x: np.clip(x.a, 2, 5)),
    Operation(OWN, "np.clip words", lambda x: np.clip(x.a, a_min=x.b, a_max=None)),
    Operation(OWN, "np.round", lambda x: np.round(x.a, 1)),
    Operation(OWN, "np.real", lambda x: np.real(x.a)),
    Operation(OWN, "np.imag", lambda x: np.imag(x.a)),
    Operation(OWN, "np.angle", lambda x: np.angle(x.a)),
    Operation(OWN, "np.nan_to_num", lambda x: np.nan_to_num(x.a, nan=1.0)),
    Operation(OWN, "np.isclose", lambda x: np.isclose(x.a, x.b)),
    Operation(OWN, "np.isin", lambda x: np.isin(x.a, [1, 3])),
    Operation(OWN, "np.digitize", lambda x: np.digitize(x.a, [2, 4, 6])),
    Operation(OWN, "np.interp", lambda x: np.interp(x.a, [0, 9], [1, 2])),
    Operation(OWN, "np.sinc", lambda x: np.sinc(x.a)),
    Operation(OWN, "np.zeros_like", lambda x: np.zeros_like(x.a)),
    Operation(OWN, "np.ones_like", lambda x: np.ones_like(x.a, dtype="i2")),
    Operation(OWN, "np.full_like", lambda x: np.full_like(x.a, 7)),
    Operation(OWN, "np.full_like row", lambda x: np.full_like(x.a, x.row)),
    Operation(OWN, "np.empty_like", lambda x: np.empty_like(x.a) * 0),
    Operation(OWN, "np.copy", lambda x: np.copy(x.a)),
    Operation(OWN, "a.copy()", lambda x: x.a.copy()),
    Operation(OWN, "a.astype", lambda x: x.a.astype("c8")),
    Operation(OWN, "a.astype bool", lambda x: x.a.astype(bool)),
    Operation(OWN, "np.copyto", _copyto, True),
    Operation(OWN, "np.shape, ndim, size", lambda x: (np.shape(x.a), np.ndim(x.a), np.size(x.a))),
    Operation(OWN, "len(a)", lambda x: len(x.a)),
    Operation(OWN, "np.result_type", lambda x: np.result_type(x.a, "f4")),
    Operation(OWN, "np.iscomplexobj", lambda x: np.iscomplexobj(x.a)),
    Operation(OWN, "np.transpose of a vector", lambda x: np.transpose(x.v)),
    Operation(SCALARS, "a.sum()", lambda x: x.a.sum()),
    Operation(SCALARS, "np.sum", lambda x: np.sum(x.a)),
    Operation(SCALARS, "np.sum dtype", lambda x: np.sum(x.a, dtype="c16")),
    Operation(SCALARS, "np.sum initial", lambda x: np.sum(x.a, initial=5)),
    Operation(SCALARS, "np.sum where", lambda x: np.sum(x.a, where=x.mask)),
    Operation(SCALARS, "np.sum keepdims", lambda x: np.sum(x.a, keepdims=True)),
    Operation(SCALARS, "np.prod", lambda x: np.prod(x.a / 7)),
    Operation(SCALARS, "np.min", lambda x: np.min(x.a)),
    Operation(SCALARS, "a.max()", lambda x: x.a.max()),
    Operation(SCALARS, "np.max where", lambda x: np.max(x.a, where=x.mask, initial=0)),
    Operation(SCALARS, "np.mean", lambda x: np.mean(x.a)),
    Operation(SCALARS, "np.var", lambda x: np.var(x.a)),
    Operation(SCALARS, "np.std ddof", lambda x: np.std(x.a, ddof=1)),
    Operation(SCALARS, "np.any", lambda x: np.any(x.a > 8)),
    Operation(SCALARS, "a.all()", lambda x: x.a.all()),
    Operation(SCALARS, "np.argmin", lambda x: np.argmin(x.a)),
    Operation(SCALARS, "a.argmax()", lambda x: x.a.argmax()),
    Operation(SCALARS, "np.count_nonzero", lambda x: np.count_nonzero(x.a - 3)),
    Operation(SCALARS, "np.ptp", lambda x: np.ptp(x.a)),
    Operation(SCALARS, "np.nansum", lambda x: np.nansum(x.a)),
    Operation(SCALARS, "np.nanmax", lambda x: np.nanmax(x.a)),
    Operation(SCALARS, "np.nanmin where", lambda x: np.nanmin(_with_nan(x), where=x.mask, initial=99)),
    Operation(SCALARS, "np.nanmean", lambda x: np.nanmean(_with_nan(x))),
    Operation(SCALARS, "np.nanstd where", lambda x: np.nanstd(_with_nan(x), ddof=1, where=x.n > 2)),
    Operation(SCALARS, "np.sum where numpy", lambda x: np.sum(x.a, where=x.n == 4)),
    Operation(SCALARS, "np.sum where numbers", lambda x: np.sum(x.a, where=x.row.real.astype(int))),
    Operation(SCALARS, "np.sum where list", lambda x: np.sum(x.a, where=(x.row == 3).tolist())),
    Operation(SCALARS, "np.sum where none", lambda x: np.sum(x.a, where=x.n == 0, initial=2)),
    Operation(SCALARS, "np.sum initial of another dtype", lambda x: np.sum(x.a, initial=0.5)),
    Operation(SCALARS, "np.prod where", lambda x: np.prod(x.a / 7, where=x.mask)),
    Operation(SCALARS, "np.min where row", lambda x: x.a.min(where=x.row == 3, initial=9)),
    Operation(SCALARS, "np.max where, no initial", lambda x: np.max(x.a, where=x.mask)),
    Operation(SCALARS, "np.any where", lambda x: np.any(x.a > 8, where=x.mask)),
    Operation(SCALARS, "np.all where", lambda x: (x.a == 4).all(where=x.mask)),
    Operation(SCALARS, "np.mean where", lambda x: np.mean(x.a, where=x.mask)),
    Operation(SCALARS, "np.mean where none", lambda x: np.mean(x.a, where=x.n == 0)),
    Operation(SCALARS, "np.var where", lambda x: x.a.var(where=x.mask)),
    Operation(SCALARS, "np.std where none", lambda x: np.std(x.a, where=x.n == 0)),
    Operation(SCALARS, "np.mean where keepdims", lambda x: np.mean(x.a, where=x.mask, keepdims=True)),
    Operation(SCALARS, "np.sum out=", _with_out(lambda x, **out: np.sum(x.a, **out))),
    Operation(SCALARS, "np.mean out=", _with_out(lambda x, **out: np.mean(x.a, **out), "f4")),
    Operation(SCALARS, "np.max out=", _with_out(lambda x, **out: np.max(x.a, **out), "c16")),
    Operation(SCALARS, "np.sum wrong out=", lambda x: np.sum(x.a, out=np.zeros(2))),
    Operation(SCALARS, "np.bincount", lambda x: np.bincount(x.v, minlength=20)),
    Operation(SCALARS, "np.average", lambda x: np.average(x.a)),
    Operation(SCALARS, "np.average weights", lambda x: np.average(x.a, weights=x.b)),
    Operation(SCALARS, "np.average by nothing", lambda x: np.average(x.a, weights=x.n * 0)),
    Operation(SCALARS, "np.add.reduce all", lambda x: np.add.reduce(x.a, axis=None)),
    Operation(SCALARS, "np.allclose", lambda x: np.allclose(x.a, x.n)),
    Operation(SCALARS, "np.array_equal", lambda x: np.array_equal(x.a, x.b)),
    Operation(SCALARS, "np.linalg.norm", lambda x: np.linalg.norm(x.a)),
    Operation(SCALARS, "np.linalg.norm max", lambda x: np.linalg.norm(x.v, np.inf)),
    Operation(SCALARS, "np.linalg.norm 1", lambda x: np.linalg.norm(x.v, 1)),
    Operation(SCALARS, "v @ w", lambda x: x.v @ x.w),
    Operation(SCALARS, "np.dot(v, numpy)", lambda x: np.dot(x.v, np.arange(len(x.v)))),
    Operation(SCALARS, "np.vdot", lambda x: np.vdot(x.a, x.b)),
    Operation(NAMED, "a[array]", lambda x: x.a[[0, -1, 0]]),
    Operation(NAMED, "a[mask]", lambda x: x.a[x.n == 4]),
    Operation(NAMED, "a[::-3]", lambda x: x.a[::-3]),
    Operation(NAMED, "np.take", lambda x: np.take(x.a, [[0, -1], [-1, 0]])),
    Operation(NAMED, "np.take axis", lambda x: np.take(x.a, [0, -1], axis=-1)),
    Operation(NAMED, "a[array] = numpy", _changed(lambda a: a.__setitem__([0, -1], 3)), True),
    Operation(NAMED, "a[::2] = 1", _changed(lambda a: a.__setitem__(np.s_[::2], 1)), True),
    Operation(NAMED, "a[a > 4] = 0", _changed(lambda a: a.__setitem__(abs(a) > 4, 0)), True),
    Operation(NAMED, "np.put", _changed(lambda a: np.put(a, [0, -1], [7, 8])), True),
    Operation(PARTS, "a + c", lambda x: x.a + x.c),
    Operation(PARTS, "a += c", _in_place(operator.iadd, "c"), True),
    Operation(PARTS, "where= c", lambda x: np.add(x.a, 1, out=np.zeros_like(x.a), where=x.c > 4), True),
    Operation(PARTS, "v @ other", lambda x: x.v @ x.other),
    Operation(PARTS, "a - means", lambda x: x.a - x.a.mean(axis=0)),
    Operation(PARTS, "a / sums", lambda x: x.a / x.a.sum(axis=-1, keepdims=True)),
    Operation(PARTS, "np.sum axis=0", lambda x: np.sum(x.a, axis=0)),
    Operation(PARTS, "np.prod axis", lambda x: np.prod(x.a, axis=-1)),
    Operation(PARTS, "np.min axis", lambda x: x.a.min(axis=-1)),
    Operation(PARTS, "np.max axis", lambda x: np.max(x.a, axis=0, keepdims=True)),
    Operation(PARTS, "np.mean axis", lambda x: np.mean(x.a, axis=0)),
    Operation(PARTS, "np.var axis", lambda x: np.var(x.a, axis=-1)),
    Operation(PARTS, "np.std axis", lambda x: np.std(x.a, axis=0, ddof=1)),
    Operation(PARTS, "np.any axis", lambda x: np.any(x.a > 8, axis=0)),
    Operation(PARTS, "np.all axis", lambda x: (x.a < 9).all(axis=-1)),
    Operation(PARTS, "np.argmin axis", lambda x: np.argmin(x.a, axis=0)),
    Operation(PARTS, "np.argmax axis", lambda x: np.argmax(x.a, axis=-1)),
    Operation(PARTS, "np.count_nonzero axis", lambda x: np.count_nonzero(x.a - 3, axis=0)),
    Operation(PARTS, "np.sum where axis", lambda x: np.sum(x.a, axis=0, where=x.mask)),
    Operation(PARTS, "np.sum where c", lambda x: np.sum(x.a, where=x.c == 4)),
    Operation(PARTS, "np.mean where axis", lambda x: np.mean(x.a, axis=0, where=x.mask)),
    Operation(PARTS, "np.var where axis", lambda x: np.var(x.a, axis=-1, where=x.mask, ddof=1)),
    Operation(PARTS, "np.sum where c axis", lambda x: x.a.sum(axis=0, where=x.c == 4)),
    Operation(PARTS, "np.nanmean axis", lambda x: np.nanmean(_with_nan(x), axis=0)),
    Operation(PARTS, "np.sum axis out=", _with_out(lambda x, **out: np.sum(x.a, axis=0, **out))),
    Operation(PARTS, "np.sum axis out= c16", _with_out(lambda x, **out: x.a.sum(-1, **out), "c16")),
    Operation(PARTS, "np.mean axis out=", _with_out(lambda x, **out: np.mean(x.a, axis=0, **out), "f4")),
    Operation(PARTS, "np.std axis out=", _with_out(lambda x, **out: np.std(x.a, axis=-1, **out))),
    Operation(PARTS, "np.any axis out=", _with_out(lambda x, **out: np.any(x.a > 8, axis=0, **out))),
    Operation(PARTS, "np.add.reduce out=", _with_out(lambda x, **out: np.add.reduce(x.a, **out))),
    Operation(PARTS, "np.average axis", lambda x: np.average(x.a, axis=-1, weights=x.row)),
    Operation(PARTS, "np.average keepdims", lambda x: np.average(x.a, axis=0, weights=x.n, keepdims=True)),
    Operation(PARTS, "np.ptp axis", lambda x: np.ptp(x.a, axis=0)),
    Operation(PARTS, "np.sum two axes", lambda x: np.sum(x.a, axis=(0, -1)) if x.a.ndim > 1 else 0),
    Operation(PARTS, "np.add.reduce", lambda x: np.add.reduce(x.a)),
    Operation(PARTS, "np.linalg.norm axis", lambda x: np.linalg.norm(x.a, axis=-1)),
    Operation(PARTS, "np.histogram", lambda x: np.histogram(x.a)),
    Operation(PARTS, "np.histogram density", lambda x: np.histogram(x.a, [1, 2, 5, 9], density=True)),
    Operation(PARTS, "a.T", lambda x: x.a.T),
    Operation(PARTS, "np.transpose", lambda x: np.transpose(x.a, np.roll(np.arange(x.a.ndim), 1))),
    Operation(MOVED, "np.sort", lambda x: np.sort(x.v)),
    Operation(TWICE, "np.sort axis", lambda x: np.sort(x.a, axis=0)),
    Operation(TWICE, "np.sort flat", lambda x: np.sort(x.a, axis=None)),
    Operation(TWICE, "np.argsort axis", lambda x: _rows(x).argsort(axis=-1, kind="stable")),
    Operation(TWICE, "np.unique", lambda x: np.unique(x.a)),
    Operation(TWICE, "np.unique counts", lambda x: np.unique(x.v, return_counts=True)),
    Operation(MOVED, "np.median", lambda x: np.median(x.a)),
    Operation(TWICE, "np.median axis", lambda x: np.median(x.a, axis=0)),
    Operation(MOVED, "np.percentile", lambda x: np.percentile(x.a, [10, 50, 99])),
    Operation(TWICE, "np.quantile axis", lambda x: np.quantile(x.a, 0.3, axis=-1)),
    Operation(MOVED, "np.cumsum", lambda x: np.cumsum(x.a)),
    Operation(MOVED, "np.cumsum axis=0", lambda x: np.cumsum(x.a, axis=0)),
    Operation(MOVED, "np.cumsum axis=-1", lambda x: x.a.cumsum(axis=-1)),
    Operation(MOVED, "np.cumsum dtype", lambda x: np.cumsum(x.a, axis=0, dtype="c16")),
    Operation(MOVED, "np.cumsum of booleans", lambda x: np.cumsum(x.mask)),
    Operation(MOVED, "np.cumsum out=", lambda x: np.cumsum(x.a, axis=0, out=np.zeros_like(x.a))),
    Operation(MOVED, "np.cumprod", lambda x: np.cumprod(x.a / 5, axis=-1)),
    Operation(MOVED, "np.add.accumulate", lambda x: np.add.accumulate(x.a)),
    Operation(MOVED, "np.maximum.accumulate", lambda x: np.maximum.accumulate(x.a, axis=-1)),
    Operation(MOVED, "np.diff", lambda x: np.diff(x.a)),
    Operation(MOVED, "np.diff n axis", lambda x: np.diff(x.a, 2, axis=0)),
    Operation(MOVED, "np.diff of booleans", lambda x: np.diff(x.mask, axis=0)),
    Operation(MOVED, "np.roll", lambda x: np.roll(x.a, 3, axis=0)),
    Operation(MOVED, "np.roll axes", lambda x: np.roll(x.a, (-1, 4), axis=(0, -1))),
    Operation(MOVED, "np.flip", lambda x: np.flip(x.a)),
    Operation(MOVED, "np.flip axis", lambda x: np.flip(x.a, axis=-1)),
    Operation(MOVED, "np.flipud", lambda x: np.flipud(x.a)),
    Operation(MOVED, "np.broadcast_to", lambda x: np.broadcast_to(x.a, (2, *x.a.shape))),
    Operation(MOVED, "np.broadcast_arrays", lambda x: np.broadcast_arrays(x.a, np.sum(x.a, axis=0))),
    Operation(MOVED, "np.swapaxes", lambda x: np.swapaxes(x.a, 0, -1)),
    Operation(MOVED, "np.moveaxis", lambda x: np.moveaxis(x.a, 0, -1)),
    Operation(MOVED, "np.concatenate", lambda x: np.concatenate([x.a, x.b])),
    Operation(MOVED, "np.concatenate axis", lambda x: np.concatenate((x.c, x.n, x.a), axis=-1)),
    Operation(MOVED, "np.concatenate dtype", lambda x: np.concatenate([x.v, x.w[:3]], dtype="c16")),
    Operation(MOVED, "np.stack", lambda x: np.stack([x.a, x.n])),
    Operation(MOVED, "np.stack axis", lambda x: np.stack([x.a, x.c, x.mask], axis=-1)),
    Operation(MOVED, "np.hstack", lambda x: np.hstack([x.a, x.b])),
    Operation(MOVED, "np.vstack", lambda x: np.vstack([x.v, x.w])),
    Operation(MOVED, "np.expand_dims", lambda x: np.expand_dims(x.a, 1)),
    Operation(MOVED, "np.squeeze", lambda x: np.squeeze(np.sum(x.m, axis=0, keepdims=True))),
    Operation(MOVED, "np.reshape", lambda x: np.reshape(x.a, x.a.shape[::-1])),
    Operation(MOVED, "a.reshape -1", lambda x: x.a.reshape(1, -1)),
    Operation(MOVED, "np.ravel", lambda x: np.ravel(x.a)),
    Operation(MOVED, "a.flatten()", lambda x: x.a.flatten()),
    Operation(MOVED, "a[distributed mask]", lambda x: x.a[x.mask]),
    Operation(MOVED, "a[mask of c]", lambda x: x.a[x.c > 3]),
    Operation(MOVED, "np.extract", lambda x: np.extract(x.mask, x.a)),
    Operation(MOVED, "np.nonzero", lambda x: np.nonzero(x.mask)),
    Operation(MOVED, "np.nonzero of numbers", lambda x: (x.a - 4).nonzero()),
    Operation(MOVED, "np.where(a)", lambda x: np.where(x.a > 7)),
    Operation(MOVED, "np.flatnonzero", lambda x: np.flatnonzero(x.mask)),
    Operation(MOVED, "np.argwhere", lambda x: np.argwhere(x.mask)),
    Operation(MOVED, "a[...] = b", _assigned(..., lambda x: x.b)),
    Operation(MOVED, "a[...] = c", _assigned(..., lambda x: x.c)),
    Operation(MOVED, "a[...] = mask", _assigned(..., lambda x: x.mask)),
    Operation(MOVED, "a[:-1] = differences", _assigned(np.s_[:-1], lambda x: np.diff(x.a, axis=0))),
    Operation(MOVED, "a[...] = sums", _assigned(..., lambda x: np.sum(_rows(x), axis=0), _rows)),
    Operation(
        MOVED, "a[..., 0] = sums", _assigned(np.s_[..., 0], lambda x: np.sum(_rows(x), axis=-1), _rows)
    ),
    Operation(
        MOVED,
        "a[::-2] = a row",
        _assigned(np.s_[::-2], lambda x: np.sum(_rows(x), axis=0, keepdims=True), _rows),
    ),
    Operation(MOVED, "a[array] = rows", _assigned(np.s_[[0, -1]], lambda x: x.c[:1] * 2)),
    Operation(
        MOVED, "v[array] = other", _assigned(np.s_[[5, 2, 5, -1]], lambda x: x.other[7:11], lambda x: x.v)
    ),
    Operation(MOVED, "a[mask] = b[mask]", _assigned_where(lambda x: x.b[x.mask])),
    Operation(TWICE, "a[mask] = c[mask]", _assigned_where(lambda x: x.c[x.mask])),
    Operation(MOVED, "a[mask] = wrong count", _assigned_where(lambda x: np.ravel(x.b))),
    Operation(MOVED, "a[...] = wrong shape", _assigned(..., lambda x: np.concatenate([x.b, x.b]))),
    Operation(PRODUCTS, "m @ k", lambda x: x.m @ x.k),
    Operation(PRODUCTS, "np.dot(m, k)", lambda x: np.dot(x.m, x.k)),
    Operation(PRODUCTS, "m @ numpy", lambda x: x.m @ np.ones((x.m.shape[1], 3))),
    Operation(PRODUCTS, "numpy @ k", lambda x: np.ones((3, x.k.shape[0])) @ x.k),
    Operation(PRODUCTS, "m @ numpy vector", lambda x: x.m @ x.y),
    Operation(PRODUCTS, "numpy vector @ k", lambda x: x.y @ x.k),
    Operation(PRODUCTS, "m.dot(vector)", lambda x: x.m.dot(x.m.sum(axis=0))),
    Operation(PRODUCTS, "np.inner", lambda x: np.inner(x.m, x.m)),
    Operation(PRODUCTS, "np.einsum ij,jk", lambda x: np.einsum("ij,jk", x.m, x.k)),
    Operation(PRODUCTS, "np.einsum ij,kj->ki", lambda x: np.einsum("ij,kj->ki", x.m, x.m)),
    Operation(PRODUCTS, "np.einsum ij,j", lambda x: np.einsum("ij,j", x.m, x.y)),
    Operation(PRODUCTS, "np.einsum j,jk->k", lambda x: np.einsum("j,jk->k", x.y, x.k)),
    Operation(PRODUCTS, "np.tensordot", lambda x: np.tensordot(x.m, x.k, 1)),
    Operation(PRODUCTS, "np.tensordot axes", lambda x: np.tensordot(x.m, x.k, ([1], [0]))),
    Operation(SCALARS, "np.tensordot of all", lambda x: np.tensordot(x.m, x.m + 1)),
    Operation(SCALARS, "np.einsum i,i", lambda x: np.einsum("i,i", x.v, x.w)),
    Operation(SCALARS, "np.einsum ij->", lambda x: np.einsum("ij->", x.m)),
    Operation(SCALARS, "np.einsum ii", lambda x: np.einsum("ii", x.s)),
    Operation(PARTS, "np.einsum ii->i", lambda x: np.einsum("ii->i", x.s)),
    Operation(PARTS, "np.einsum ij->j", lambda x: np.einsum("ij->j", x.m)),
    Operation(MOVED, "np.einsum ij->ji", lambda x: np.einsum("ij->ji", x.m)),
    Operation(OWN, "np.einsum ij->ij", lambda x: np.einsum("ij->ij", x.m)),
    Operation(PARTS, "np.einsum ij,ij->i", lambda x: np.einsum("ij,ij->i", x.m, x.m)),
    Operation(PARTS, "np.einsum ij,j->ij", lambda x: np.einsum("ij,j->ij", x.m, x.y)),
    Operation(MOVED, "np.einsum j,ij->ji", lambda x: np.einsum("j,ij->ji", np.sum(x.m, axis=0), x.m)),
    Operation(PARTS, "np.einsum ij,k->i", lambda x: np.einsum("ij,k->i", x.m, x.v)),
    Operation(PARTS, "np.einsum i,j->ji", lambda x: np.einsum("i,j->ji", x.v, x.w)),
    Operation(OWN, "np.gradient along whole rows", lambda x: np.gradient(x.rows, axis=1)),
    Operation(TWICE, "np.gradient", lambda x: np.gradient(x.a)),
    Operation(TWICE, "np.gradient axis", lambda x: np.gradient(x.a, 0.5, axis=0)),
    Operation(
        TWICE, "np.gradient edges", lambda x: np.gradient(_rows(x), 0.5, 2, edge_order=2, axis=(-1, 0))
    ),
    Operation(
        TWICE,
        "np.gradient coordinates",
        lambda x: np.gradient(x.a, np.arange(x.a.shape[-1]) ** 1.5, axis=-1, edge_order=2),
    ),
    Operation(SCALARS, "np.trapezoid", lambda x: np.trapezoid(x.v)),
    Operation(SCALARS, "np.trapezoid dx", lambda x: np.trapezoid(x.v, dx=0.25)),
    Operation(PARTS, "np.trapezoid axis", lambda x: np.trapezoid(_rows(x), axis=0)),
    Operation(PARTS, "np.trapezoid x", lambda x: np.trapezoid(_rows(x), np.arange(_rows(x).shape[-1]) ** 2)),
    Operation(TWICE, "np.trapezoid x of all", lambda x: np.trapezoid(_rows(x), _rows(x) * 2, axis=0)),
    Operation(PARTS, "np.trapezoid distributed x", lambda x: np.trapezoid(x.v, x.other)),
    Operation(SCALARS, "np.trace", lambda x: np.trace(x.m)),
    Operation(SCALARS, "a.trace()", lambda x: x.m.trace(offset=-2, dtype="c16")),
    Operation(PARTS, "np.trace axes", lambda x: np.trace(_rows(x), 1, -1, 0)),
    Operation(MOVED, "np.diagonal", lambda x: np.diagonal(x.m)),
    Operation(MOVED, "a.diagonal()", lambda x: _rows(x).diagonal(2, 1, 0)),
    Operation(MOVED, "np.diagonal without elements", lambda x: np.diagonal(x.m, 99)),
    Operation(MOVED, "np.pad", lambda x: np.pad(x.a, 2)),
    Operation(MOVED, "np.pad values", lambda x: np.pad(x.a, (3, 1), constant_values=(4, 5))),
    Operation(MOVED, "np.pad edge", lambda x: np.pad(x.a, 2, "edge")),
    Operation(MOVED, "np.pad wrap", lambda x: np.pad(x.a, ((1, 4),), mode="wrap")),
    Operation(MOVED, "np.pad reflect", lambda x: np.pad(x.a, (2, 3), mode="reflect")),
    Operation(
        MOVED, "np.pad symmetric", lambda x: np.pad(x.a, [(n, 2) for n in range(x.a.ndim)], "symmetric")
    ),
    Operation(MOVED, "np.pad an axis", lambda x: np.pad(x.a, {-1: (0, 3)})),
    Operation(MOVED, "np.tile", lambda x: np.tile(x.a, 2)),
    Operation(MOVED, "np.tile axes", lambda x: np.tile(x.m, (2, 1, 3))),
    Operation(MOVED, "np.tile nothing", lambda x: np.tile(x.m, (0, 2))),
    Operation(MOVED, "np.repeat", lambda x: np.repeat(x.a, 3)),
    Operation(MOVED, "np.repeat axis", lambda x: np.repeat(x.a, 2, axis=-1)),
    Operation(MOVED, "a.repeat counts", lambda x: x.v.repeat(np.arange(301) % 4, axis=0)),
    Operation(MOVED, "np.kron", lambda x: np.kron(x.m, np.ones((2, 3)))),
    Operation(MOVED, "np.kron of two arrays", lambda x: np.kron(x.v[:3], x.m)),
    Operation(MOVED, "np.kron of vectors", lambda x: np.kron(x.v, x.w)),
    Operation(TWICE, "np.cov", lambda x: np.cov(x.few)),
    Operation(SCALARS, "np.cov of a vector", lambda x: np.cov(x.v, bias=True)),
    Operation(PARTS, "np.cov of two vectors", lambda x: np.cov(x.v, x.other)),
    Operation(TWICE, "np.cov of columns", lambda x: np.cov(x.few.T, x.other, False, ddof=0)),
    Operation(TWICE, "np.corrcoef", lambda x: np.corrcoef(x.few, dtype="c16")),
    Operation(SCALARS, "np.corrcoef of a vector", lambda x: np.corrcoef(x.v)),
    Operation(PARTS, "np.histogram weights", lambda x: np.histogram(x.a, 4, (1, 9), weights=x.c)),
    Operation(PARTS, "np.bincount weights", lambda x: np.bincount(x.v, weights=x.other)),
    Operation(SCALARS, "np.bincount by numpy", lambda x: np.bincount(x.v, np.arange(301) * 0.5)),
    Operation(OWN, "np.searchsorted of a", lambda x: np.searchsorted([2, 4, 6], x.a)),
    Operation(SCALARS, "np.searchsorted", lambda x: np.searchsorted(x.ordered, [[3, 1], [9, 5]], "right")),
    Operation(SCALARS, "np.searchsorted one", lambda x: np.searchsorted(x.ordered, 4)),
    Operation(PARTS, "np.outer of matrices", lambda x: np.outer(x.m, x.y)),
    Operation(PARTS, "np.outer", lambda x: np.outer(x.v, x.w)),
    Operation(REFUSED, "np.unique inverse", lambda x: np.unique(x.a, return_inverse=True)),
    Operation(REFUSED, "np.percentile by another method", lambda x: np.percentile(x.m, 10, method="lower")),
    Operation(REFUSED, "np.roll without an axis", lambda x: np.roll(x.m, 1)),
    Operation(REFUSED, "np.reshape in another order", lambda x: np.reshape(x.a, -1, order="F")),
    Operation(REFUSED, "np.concatenate flat", lambda x: np.concatenate([x.m, x.m], axis=None)),
    Operation(REFUSED, "np.diff prepend", lambda x: np.diff(x.a, prepend=0)),
    Operation(REFUSED, "np.sum axis out= numpy", lambda x: np.sum(x.m, axis=0, out=np.zeros(23))),
    Operation(REFUSED, "np.var mean=", lambda x: np.var(x.a, mean=0)),
    Operation(REFUSED, "a.put of b", lambda x: x.a.put([0, 1], x.v)),
    Operation(REFUSED, "np.searchsorted of both", lambda x: np.searchsorted(x.ordered, x.v)),
    Operation(REFUSED, "np.einsum of three", lambda x: np.einsum("ij,jk,k", x.m, x.k, np.ones(31))),
    Operation(REFUSED, "np.einsum by batches", lambda x: np.einsum("ij,kj->ikj", x.m, x.m)),
    Operation(REFUSED, "np.einsum ellipsis", lambda x: np.einsum("...j->j", x.m)),
    Operation(REFUSED, "np.einsum of lists", lambda x: np.einsum(x.m, [0, 1])),
    Operation(REFUSED, "np.gradient by distributed", lambda x: np.gradient(x.v, x.w)),
    Operation(REFUSED, "np.pad by means", lambda x: np.pad(x.a, 1, "mean")),
    Operation(REFUSED, "np.pad odd", lambda x: np.pad(x.a, 1, "reflect", reflect_type="odd")),
    Operation(REFUSED, "np.tile dimensions", lambda x: np.tile(x.v, (1, 1, 1, 1, 2))),
    Operation(REFUSED, "np.repeat by a", lambda x: np.repeat(x.v, x.v)),
    Operation(REFUSED, "np.cov weights", lambda x: np.cov(x.m, fweights=np.ones(23, int))),
    Operation(REFUSED, "np.trace of a vector", lambda x: np.trace(x.v)),
    Operation(REFUSED, "np.linalg.svd", lambda x: np.linalg.svd(x.m)),
    Operation(REFUSED, "np.linalg.norm 2", lambda x: np.linalg.norm(x.m, 2)),
    Operation(REFUSED, "np.fft.fft", lambda x: np.fft.fft(x.a)),
    Operation(REFUSED, "np.histogram rule", lambda x: np.histogram(x.a, "auto")),
    Operation(REFUSED, "np.add.outer", lambda x: np.add.outer(x.v, x.w)),
    Operation(REFUSED, "np.subtract.reduce", lambda x: np.subtract.reduce(x.a)),
    Operation(REFUSED, "np.add.at", lambda x: np.add.at(x.v, [0, 0], 1)),
    Operation(REFUSED, "np.matmul out=", lambda x: np.matmul(x.m, x.k, out=np.zeros_like(x.m))),
    Operation(REFUSED, "numpy matrix @ vector", lambda x: np.ones((2, len(x.v))) @ x.v),
    Operation(REFUSED, "np.add out= numpy", lambda x: np.add(x.a, 1, out=np.zeros(x.a.shape))),
    Operation(REFUSED, "a + larger numpy", lambda x: x.a + np.ones((2, *x.a.shape))),
    Operation(REFUSED, "a + masked", lambda x: x.a + np.ma.masked_array(x.row, x.row > 3)),
    Operation(REFUSED, "np.vectorize", lambda x: np.vectorize(abs)(x.a)),
    Operation(REFUSED, "np.testing", lambda x: np.testing.assert_allclose(x.a, x.n)),
    Operation(REFUSED, "np.save", lambda x: np.save("/dev/null", x.a)),
    Operation(REFUSED, "np.meshgrid", lambda x: np.meshgrid(x.v, x.w)),
]
