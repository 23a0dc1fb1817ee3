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


# x.a, x.b: of one layout; x.c: of another one; x.n, x.row: numpy arrays of their shape and of its last
# extent; x.mask: a boolean array. x.v, x.w: vectors; x.m, x.k, x.y: matrices that can be multiplied, and
# a numpy vector for them. All are of one dtype. x.other: the vector x.v in another layout.
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
    Operation(PARTS, "np.sum two axes", lambda x: np.sum(x.a, axis=(0, -1)) if x.a.ndim > 1 else 0),
    Operation(PARTS, "np.add.reduce", lambda x: np.add.reduce(x.a)),
    Operation(PARTS, "np.linalg.norm axis", lambda x: np.linalg.norm(x.a, axis=-1)),
    Operation(PARTS, "np.histogram", lambda x: np.histogram(x.a)),
    Operation(PARTS, "np.histogram density", lambda x: np.histogram(x.a, [1, 2, 5, 9], density=True)),
    Operation(PARTS, "a.T", lambda x: x.a.T),
    Operation(PARTS, "np.transpose", lambda x: np.transpose(x.a, np.roll(np.arange(x.a.ndim), 1))),
    Operation(PRODUCTS, "m @ k", lambda x: x.m @ x.k),
    Operation(PRODUCTS, "np.dot(m, k)", lambda x: np.dot(x.m, x.k)),
    Operation(PRODUCTS, "m @ numpy", lambda x: x.m @ np.ones((x.m.shape[1], 3))),
    Operation(PRODUCTS, "numpy @ k", lambda x: np.ones((3, x.k.shape[0])) @ x.k),
    Operation(PRODUCTS, "m @ numpy vector", lambda x: x.m @ x.y),
    Operation(PRODUCTS, "numpy vector @ k", lambda x: x.y @ x.k),
    Operation(PRODUCTS, "m.dot(vector)", lambda x: x.m.dot(x.m.sum(axis=0))),
    Operation(PRODUCTS, "np.inner", lambda x: np.inner(x.m, x.m)),
    Operation(PARTS, "np.outer", lambda x: np.outer(x.v, x.w)),
    Operation(REFUSED, "np.sort", lambda x: np.sort(x.a)),
    Operation(REFUSED, "np.argsort", lambda x: np.argsort(x.a)),
    Operation(REFUSED, "np.unique", lambda x: np.unique(x.a)),
    Operation(REFUSED, "np.median", lambda x: np.median(x.a)),
    Operation(REFUSED, "np.percentile", lambda x: np.percentile(x.a, 10)),
    Operation(REFUSED, "np.cumsum", lambda x: np.cumsum(x.a)),
    Operation(REFUSED, "np.diff", lambda x: np.diff(x.a)),
    Operation(REFUSED, "np.concatenate", lambda x: np.concatenate([x.a, x.b])),
    Operation(REFUSED, "np.stack", lambda x: np.stack([x.a, x.n])),
    Operation(REFUSED, "np.reshape", lambda x: np.reshape(x.a, -1)),
    Operation(REFUSED, "np.ravel", lambda x: np.ravel(x.a)),
    Operation(REFUSED, "np.nonzero", lambda x: np.nonzero(x.a)),
    Operation(REFUSED, "np.where(a)", lambda x: np.where(x.a)),
    Operation(REFUSED, "np.roll", lambda x: np.roll(x.a, 1)),
    Operation(REFUSED, "np.einsum", lambda x: np.einsum("ij->i", x.m)),
    Operation(REFUSED, "np.tensordot", lambda x: np.tensordot(x.m, x.k, 1)),
    Operation(REFUSED, "np.linalg.svd", lambda x: np.linalg.svd(x.m)),
    Operation(REFUSED, "np.linalg.norm 2", lambda x: np.linalg.norm(x.m, 2)),
    Operation(REFUSED, "np.fft.fft", lambda x: np.fft.fft(x.a)),
    Operation(REFUSED, "np.histogram rule", lambda x: np.histogram(x.a, "auto")),
    Operation(REFUSED, "np.add.accumulate", lambda x: np.add.accumulate(x.a)),
    Operation(REFUSED, "np.add.outer", lambda x: np.add.outer(x.v, x.w)),
    Operation(REFUSED, "np.subtract.reduce", lambda x: np.subtract.reduce(x.a)),
    Operation(REFUSED, "np.add.at", lambda x: np.add.at(x.v, [0, 0], 1)),
    Operation(REFUSED, "np.matmul out=", lambda x: np.matmul(x.m, x.k, out=np.zeros_like(x.m))),
    Operation(REFUSED, "numpy matrix @ vector", lambda x: np.ones((2, len(x.v))) @ x.v),
    Operation(REFUSED, "np.sum out=", lambda x: np.sum(x.a, out=np.zeros(()))),
    Operation(REFUSED, "np.add out= numpy", lambda x: np.add(x.a, 1, out=np.zeros(x.a.shape))),
    Operation(REFUSED, "np.mean where=", lambda x: np.mean(x.a, where=x.mask)),
    Operation(REFUSED, "a + larger numpy", lambda x: x.a + np.ones((2, *x.a.shape))),
    Operation(REFUSED, "a + masked", lambda x: x.a + np.ma.masked_array(x.row, x.row > 3)),
    Operation(REFUSED, "np.vectorize", lambda x: np.vectorize(abs)(x.a)),
    Operation(REFUSED, "np.testing", lambda x: np.testing.assert_allclose(x.a, x.n)),
    Operation(REFUSED, "np.save", lambda x: np.save("/dev/null", x.a)),
    Operation(REFUSED, "np.meshgrid", lambda x: np.meshgrid(x.v, x.w)),
]
