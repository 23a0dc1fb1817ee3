# SPDX-License-Identifier: Apache-2.0
"""The array API standard's functions on distributed arrays: a program that is written for the standard alone.

python array_api_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from array_checks import raised, refused, same
from checks import run_checks
from numpy_table_checks import moved

os.environ["SCIPY_ARRAY_API"] = "1"  # before scipy is imported

from nearfetch import BlockArray, CyclicArray, barrier, random, rank, ranks


def standardized(x: Any) -> Any:
    """Columns of mean 0 and deviation 1, by functions of the array's own namespace."""
    xp = x.__array_namespace__(api_version="2024.12")
    centred = x - xp.mean(x, axis=0, keepdims=True)
    deviation = xp.std(x, axis=0, keepdims=True, correction=1)
    return xp.where(deviation > 0, centred / deviation, xp.zeros_like(centred))


def softmax(x: Any, xp: Any) -> Any:
    """Of all elements."""
    shifted = xp.exp(x - xp.max(x))
    return shifted / xp.sum(shifted)


def programs() -> None:
    """They give what numpy gives, on arrays that stay distributed."""
    for kind in (BlockArray, CyclicArray):
        x = random((400 * ranks(), 6), seed=1, distribution=kind)
        model = x[...]
        before = moved()
        found = standardized(x)
        assert type(found) is kind and moved() - before < 0.2 * model.nbytes
        assert np.allclose(found[...], (model - model.mean(0)) / model.std(0, ddof=1))
        known = softmax(x, x.__array_namespace__())
        assert type(known) is kind and np.allclose(known[...], softmax(model, np))
        barrier()


def functions() -> None:
    """Those that are not numpy's own."""
    x = BlockArray((7, 3))
    x += np.arange(21).reshape(7, 3)
    barrier()
    model = x[...]
    xp = x.__array_namespace__()
    for seen, expected in (
        (xp.zeros((3, 2)), np.zeros((3, 2))),
        (xp.ones(4, dtype=xp.int32), np.ones(4, "i4")),
        (xp.full((2, 2), 3), np.full((2, 2), 3)),
        (xp.empty(3, dtype=xp.bool), np.zeros(3, bool)),
        (xp.full_like(x, 2, dtype=xp.float32), np.full_like(model, 2, dtype="f4")),
        (xp.arange(2, 9, 3), np.arange(2, 9, 3)),
        (xp.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False)),
        (xp.eye(3, 4, k=1), np.eye(3, 4, 1)),
        (xp.asarray([[1, 2], [3, 4]], dtype=xp.float64), np.array([[1.0, 2], [3, 4]])),
        (xp.asarray(x, dtype=xp.float32), model.astype("f4")),
        (xp.astype(x, xp.int64), model.astype("i8")),
        (xp.clip(x, 2, 9), np.clip(model, 2, 9)),
        (xp.clip(x, max=9), np.clip(model, None, 9)),
        (xp.var(x, axis=1, correction=1.0), model.var(axis=1, ddof=1)),
        (xp.cumulative_sum(x, axis=0), model.cumsum(axis=0)),
        (xp.cumulative_prod(x[0:1, 1:2] + x, axis=1), (model[0, 1] + model).cumprod(axis=1)),
        (xp.cumulative_sum(x, axis=1, include_initial=True), np.cumsum(np.pad(model, ((0, 0), (1, 0))), 1)),
        (xp.vecdot(x, x), (model * model).sum(-1)),
        (xp.matrix_transpose(x), model.T),
        (x.mT, model.T),
        (xp.permute_dims(x, (1, 0)), model.T),
        (xp.concat([x, x], axis=1), np.concatenate([model, model], axis=1)),
        (xp.pow(x, 2), model**2),
        (xp.bitwise_left_shift(xp.astype(x, xp.int64), 1), model.astype("i8") << 1),
        (xp.asin(x / 20), np.arcsin(model / 20)),
        (xp.reshape(x, (3, 7)), model.reshape(3, 7)),
        (xp.any(x > 19), np.bool_(True)),
        (xp.sort(-x, axis=0, descending=True), -model),
        (xp.argsort(x % 3, axis=0, descending=True), np.argsort(-(model % 3), axis=0, kind="stable")),
        (xp.repeat(x, 2, axis=1), np.repeat(model, 2, axis=1)),
        (xp.tile(x, (2, 1)), np.tile(model, (2, 1))),
        (xp.tensordot(x, x, axes=((1,), (1,))), model @ model.T),
        (xp.unique_values(x % 5), np.unique(model % 5)),
        (xp.unique_counts(x % 4).counts, np.unique(model % 4, return_counts=True)[1]),
    ):
        assert isinstance(seen, BlockArray) or np.ndim(seen) == 0
        same(np.asarray(seen), np.asarray(expected))
        barrier()
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and x.to_device("cpu") is x
    assert xp.astype(x, xp.float64, copy=False) is x
    assert type(xp.asarray(3.0)) is np.ndarray and xp.full((), 2).shape == ()
    barrier()


def questions() -> None:
    """What a library asks before it begins."""
    x = BlockArray(3, "f4")
    xp = x.__array_namespace__("2023.12")
    info = xp.__array_namespace_info__()
    assert info.default_device() == x.device == "cpu" and info.devices() == ["cpu"]
    assert info.capabilities()["boolean indexing"] and info.default_dtypes()["indexing"] == np.intp
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert xp.isdtype(x.dtype, "real floating") and not xp.isdtype(x.dtype, ("integral", xp.float64))
    assert xp.finfo(x).bits == 32 and xp.iinfo(xp.int16).max == 32767
    assert xp.result_type(x, xp.float64) == "f8" and xp.can_cast(x, xp.float64)
    for name in ("unstack", "unique_all", "take", "linalg", "fft", "no_such_name"):
        assert not hasattr(xp, name)
    for call, words, kind in (
        (lambda: xp.take, "use numpy's function of np.asarray(a)", AttributeError),
        (lambda: x.__array_namespace__("1999.01"), "use one", ValueError),
        (lambda: xp.zeros(3, device="gpu"), "use 'cpu'", ValueError),
        (lambda: x.to_device("gpu"), "use 'cpu'", ValueError),
        (lambda: xp.asarray([1], copy=False), "leave copy out", ValueError),
        (lambda: xp.isdtype(x.dtype, "number"), "use one of these", ValueError),
        (lambda: xp.cumulative_sum(BlockArray((2, 2))), "give axis=", ValueError),
    ):
        raised(call, words, kind)
    barrier()


def libraries() -> None:
    """array_api_compat and scipy, where they are installed, find the namespace."""
    try:
        import array_api_compat
        import scipy
    except ImportError:
        return
    x = random((300 * ranks(), 4), seed=2)
    xp = array_api_compat.array_namespace(x)
    assert xp is x.__array_namespace__() and array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) == "cpu" and array_api_compat.size(x) == x.size
    model = x[...]
    for function in (
        lambda a: scipy.special.logsumexp(a, axis=0),
        lambda a: scipy.special.softmax(a, axis=0),
        lambda a: scipy.cluster.vq.whiten(a),
    ):
        before = moved()
        found = function(x)
        assert type(found) is BlockArray and moved() - before < 0.4 * model.nbytes
        assert np.allclose(found[...], function(model))
        barrier()
    before = moved()
    refused(lambda: scipy.special.expit(x), "use np.asarray(a)")
    assert moved() == before
    barrier()


def main() -> int:
    """All of it, in one program."""
    programs()
    functions()
    questions()
    libraries()
    return rank()


if __name__ == "__main__":
    run_checks(main)
