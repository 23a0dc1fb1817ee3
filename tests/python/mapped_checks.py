# SPDX-License-Identifier: Apache-2.0
"""Paddings, repetitions, slopes, diagonals and contractions: values, bounds, messages, bytes and errors.

python mapped_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import numpy as np
from array_checks import arrays, refused, same, values
from checks import run_whole_or_some
from moving_checks import filled, used
from numpy_table_checks import same as nearly_same

import nearfetch
from nearfetch import BlockArray, CyclicArray, barrier, rank, ranks

SHAPES = ((1,), (101,), (13, 7), (1, 5), (5, 2, 6), (2, 3, 2, 3))


def paddings(shape: tuple[int, ...], turns: int) -> None:
    """By random widths, also of more than an extent, in every mode; of any distribution."""
    random = np.random.default_rng(sum(shape))
    model = values(shape, "i4")
    for mode in ("constant", "edge", "wrap", "reflect", "symmetric"):
        for _ in range(turns):
            widths = random.integers(0, 9 if random.integers(2) else 3, (len(shape), 2))
            more = {"constant_values": (5, 6)} if mode == "constant" else {}
            for array in arrays(shape, "i4"):
                padded = np.pad(filled(array, model), widths, mode, **more)
                assert type(padded) is type(array)
                same(padded[...], np.pad(model, widths, mode, **more))
                barrier()


def repetitions(shape: tuple[int, ...], turns: int) -> None:
    """Counts for each index or for all, also of none, and more dimensions."""
    random = np.random.default_rng(sum(shape))
    model = values(shape, "f8")
    for _ in range(turns):
        axis = int(random.integers(len(shape)))
        counts = random.integers(0, 4, shape[axis])
        reps = tuple(random.integers(0, 4, random.integers(1, 5)).tolist())
        for array in arrays(shape, "f8"):
            filled(array, model)
            same(np.repeat(array, counts, axis)[...], np.repeat(model, counts, axis))
            same(array.repeat(int(counts[0]))[...], model.repeat(counts[0]))
            same(np.tile(array, reps)[...], np.tile(model, reps))
            barrier()


def slopes(shape: tuple[int, ...]) -> None:
    """Along every axis that has as many indices as an order needs, by distances and by coordinates."""
    random = np.random.default_rng(8)
    for dtype in ("f4", "f8", "i2", "c8", "M8[s]"):
        model = values(shape, dtype)
        for axis, extent in enumerate(shape):
            for order in (1, 2):
                if extent <= order:
                    continue
                for by in (2, np.cumsum(random.integers(1, 5, extent))) if dtype[0] != "M" else (1,):
                    for array in arrays(shape, dtype):
                        seen = np.gradient(filled(array, model), by, axis=axis, edge_order=order)
                        expected = np.gradient(model, by, axis=axis, edge_order=order)
                        assert seen._layout == array._layout and seen.dtype == expected.dtype
                        if dtype[0] == "M":
                            same(seen[...], expected)
                        else:
                            limit = 1e-5 if seen.dtype in ("f4", "c8") else 1e-12
                            assert np.allclose(seen[...], expected, limit, 1e-4 * (limit > 1e-6))
                        barrier()


def bounds() -> None:
    """Results keep the first index; positions are counted from it."""
    model = np.arange(24.0).reshape(6, 4) % 7
    for kind in (BlockArray, CyclicArray):
        array = filled(kind(bounds=[(-3, 3), (5, 9)]), model)
        line = filled(kind(bounds=[(2, 8)]), np.arange(6) ** 2.0)
        assert np.gradient(array, axis=0).bounds == array.bounds
        assert np.pad(array, 1).bounds == ((-3, 5), (5, 11)) and np.tile(array, 2).bounds == (
            (-3, 3),
            (5, 13),
        )
        assert np.repeat(array, 2, 1).bounds == ((-3, 3), (5, 13))
        for seen, expected in zip(np.gradient(array), np.gradient(model)):
            same(seen[...], expected)
        same(np.pad(array, 2, "wrap")[...], np.pad(model, 2, "wrap"))
        same(np.tile(array, (1, 2))[...], np.tile(model, (1, 2)))
        same(np.repeat(array, 3)[...], np.repeat(model, 3))
        same(np.diagonal(array, -1)[...], np.diagonal(model, -1))
        same(np.kron(array, line)[...], np.kron(model, np.arange(6) ** 2.0))
        nearly_same(np.cov(array, line, rowvar=False), np.cov(model, np.arange(6) ** 2.0, rowvar=False))
        nearly_same(np.trapezoid(array, line, axis=0)[...], np.trapezoid(model, np.arange(6) ** 2.0, axis=0))
        assert np.trace(array, 2) == np.trace(model, 2)
        assert np.searchsorted(line, [3, 25]).tolist() == [2, 5]
        barrier()


def contractions() -> None:
    """Texts without spaces and with, with and without a result, of distributed and numpy operands."""
    m, k, s, v, c = (values(one, "f8", 3) for one in ((6, 5), (5, 4), (5, 5), (5,), (3, 6, 5)))
    for kind in (BlockArray, CyclicArray):
        made = {id(one): filled(kind(one.shape), one) for one in (m, k, s, v, c)}
        for text, *operands in (
            ("ij, jk", m, k),
            ("ij,jk->ki", m, k),
            ("ji,kj->ik", k, m),
            ("ij,kj", m, m),
            ("ii,ij->j", s, k),
            ("ij,jj->i", m, s),
            ("ijk,jk->i", c, m),
            ("ijk,ij->ijk", c, c[:, :, 0]),
            ("ijk->ki", c),
            ("iij->j", np.stack([s, s], axis=2)[:, :, :5]),
            ("ij,->ij", m, np.float64(3)),
            ("i,j", v, v),
            ("ijk,ik->kji", c, c[:, 0]),
            ("jk,ijk->ikj", m, c),
        ):
            given = [made.get(id(one), one) for one in operands]
            if all(one is other for one, other in zip(given, operands)):
                given[0] = filled(kind(operands[0].shape), operands[0])
            nearly_same(np.einsum(text, *given), np.einsum(text, *operands))
            barrier()
        nearly_same(np.tensordot(made[id(c)], v, ([-1], [0])), np.tensordot(c, v, ([-1], [0])))
        barrier()


def few_messages() -> None:
    """What lies beside own elements, in two messages for an owner and box; nothing along whole rows."""
    rows, columns, others = 60 * ranks(), 80, ranks() - 1
    model = values((rows, columns), "f8")
    array = filled(BlockArray(model.shape, grid=(ranks(), 1)), model)
    few = filled(BlockArray((3, 1000 * ranks()), grid=(1, ranks())), values((3, 1000 * ranks()), "f8"))
    row, scalars = 8 * columns, 64 * ranks() ** 2
    for name, call, most_bytes, most_messages in (
        ("slopes", lambda: np.gradient(array, axis=0), 2 * row, 4),
        ("slopes at the ends", lambda: np.gradient(array, axis=0, edge_order=2), 2 * row, 4),
        ("slopes of rows", lambda: np.gradient(array, axis=1), 0, 0),
        ("an edge", lambda: np.pad(array, ((2, 2), (0, 0)), "edge"), 4 * row, 8),
        ("the other end", lambda: np.pad(array, ((2, 2), (0, 0)), "wrap"), 8 * row, 12),
        ("beside rows", lambda: np.pad(array, ((0, 0), (5, 5)), "reflect"), 0, 0),
        ("repeated rows", lambda: np.repeat(array, 3, axis=0), 0, 0),
        ("repeated columns", lambda: np.tile(array, 4), 0, 0),
        ("shifted", lambda: np.roll(array, 2, axis=0), 2 * row, 4),
        ("a trace", lambda: np.trace(array), scalars, 4 * others),
        ("integrals of rows", lambda: np.trapezoid(array, axis=1), 0, 0),
        ("an integral", lambda: np.trapezoid(array, axis=0), 2 * row, 4 * others),
        ("covariances", lambda: np.cov(few), 16 * 13 * ranks(), 4 * others),
        # A GET of named elements brings up to 8 KiB between them.
        ("a diagonal", lambda: np.diagonal(array), 24 * columns + 8192, 2 * others),
    ):
        _, sent, size = used(call)
        nearfetch.release()
        assert size <= (most_bytes + 1024 if most_bytes and others else 0), (name, size, most_bytes)
        assert sent <= (most_messages + 2 if most_messages and others else 0), (name, sent)
        barrier()


def wrong_uses() -> None:
    """They say what is wrong."""
    array, vector = BlockArray((4, 5)), BlockArray(4)
    for call, words, kind in (
        (lambda: np.pad(array, 1, "linear_ramp"), "use constant, edge", nearfetch.Error),
        (lambda: np.pad(array, 1, lambda *_: None), "use constant, edge", nearfetch.Error),
        (lambda: np.pad(array, -1), "whole numbers from 0 on", nearfetch.Error),
        (lambda: np.pad(array, 0.5), "whole numbers from 0 on", nearfetch.Error),
        (lambda: np.pad(array, (1, 2, 3)), "two widths for each", nearfetch.Error),
        (lambda: np.pad(BlockArray(0), 1, "edge"), "use 'constant'", nearfetch.Error),
        (lambda: np.tile(array, (2, -1)), "from 0 on", nearfetch.Error),
        (lambda: np.repeat(array, [1, 2], axis=0), "one for all, or for each of 4", nearfetch.Error),
        (lambda: np.repeat(array, -1), "from 0 on", nearfetch.Error),
        (lambda: np.repeat(array, 1.5), "whole numbers", nearfetch.Error),
        (lambda: np.gradient(array, edge_order=3), "1 or 2", nearfetch.Error),
        (lambda: np.gradient(BlockArray(2), edge_order=2), "has more indices", nearfetch.Error),
        (lambda: np.gradient(array, 1, 2, 3), "as many as axes", nearfetch.Error),
        (lambda: np.gradient(array, [1, 2], axis=0), "as many as axes", nearfetch.Error),
        (lambda: np.gradient(array, axis=2), "use 0 to 1", IndexError),
        (lambda: np.trapezoid(array, [1, 2]), "a coordinate for each", nearfetch.Error),
        (lambda: np.trace(array, 0, 1, 1), "name two of them", nearfetch.Error),
        (lambda: np.diagonal(vector), "two dimensions", nearfetch.Error),
        (lambda: np.cov(array, vector), "give as many", nearfetch.Error),
        (lambda: np.cov(BlockArray((2, 2, 2))), "one or two dimensions", nearfetch.Error),
        (lambda: np.einsum("ij", vector), "name as many", nearfetch.Error),
        (lambda: np.einsum("ij,ij", array, np.ones((4, 4))), "with one extent", nearfetch.Error),
        (lambda: np.einsum("ij->ik", array), "a letter is one index", nearfetch.Error),
        (lambda: np.tensordot(array, vector, ([1], [3])), "are paired", nearfetch.Error),
        (lambda: np.searchsorted(array, 1), "a.ravel()", nearfetch.Error),
        (lambda: np.searchsorted(vector, 1, sorter=[0]), "np.asarray()", nearfetch.Error),
        (lambda: np.bincount(BlockArray(3, int), weights=[1]), "use as many", nearfetch.Error),
        (lambda: np.histogram(vector, weights=array), "use as many", nearfetch.Error),
    ):
        refused(call, words, kind)
    barrier()


def main(whole: bool) -> int:
    """All of it, in one program; on MPI, where it takes long, fewer shapes."""
    few_messages()  # first: later the page cache has seen streams, and reads ahead
    for shape in SHAPES if whole else SHAPES[2:3]:
        paddings(shape, 4 if whole else 1)
        repetitions(shape, 3 if whole else 1)
        slopes(shape)
    bounds()
    contractions()
    wrong_uses()
    return rank()


if __name__ == "__main__":
    run_whole_or_some(main)
