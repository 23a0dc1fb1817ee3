# SPDX-License-Identifier: Apache-2.0
"""New arrays whose indices name those of another one in each dimension: reversed, shifted, repeated, padded.

Each rank finds out which indices its own part of the result needs in each dimension, and reads each one once:
so it gets no more than its part of the result. All of them are collective and make copies.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, Callable, Optional, Sequence

from nearfetch.dense import ArrayLayout, Dense, checked_operand, first_dense
from nearfetch.errors import Error
from nearfetch.indexing import key_of
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements, refuse
from nearfetch.rearranging import in_blocks, made_from, own_places, raveled
from nearfetch.reductions import axes_of

__all__ = ["read_mapped", "repeated"]

_MOST_RUNS = 8
"""So many boxes are read one by one; of more pieces elements are."""


def read_mapped(operand: Any, places: Sequence[np.ndarray]) -> np.ndarray:
    """An operand's elements at all combinations of indices, counted from 0. One-sided.

    They may come in any order, and repeatedly: each element is read once.
    """
    if not isinstance(operand, Dense):
        return operand[np.ix_(*places)]
    named = [np.unique(one, return_inverse=True) for one in places]
    found = _read_runs(operand, [one + first for (one, _), (first, _) in zip(named, operand.bounds)])
    return found[np.ix_(*(inverse for _, inverse in named))]


def _read_runs(array: Dense, indices: Sequence[np.ndarray]) -> np.ndarray:
    """The same at ascending indices: in boxes where these are at few regular distances."""
    found = np.empty([one.size for one in indices], array.dtype)
    if not found.size:
        return found
    runs = [_runs(one) for one in indices]
    if np.prod([len(one) for one in runs]) > _MOST_RUNS:
        return array[np.ix_(*indices)]
    for piece in itertools.product(*runs):
        found[piece] = array[key_of([one[part] for one, part in zip(indices, piece)])]
    return found


def _runs(numbers: np.ndarray) -> list[slice]:
    """Parts of growing numbers with one distance each, from the first on; no more of them than matter."""
    steps, runs, begin = np.diff(numbers), [], 0
    while begin < numbers.size and len(runs) <= _MOST_RUNS:
        others = np.flatnonzero(steps[begin:] != steps[begin]) if begin < steps.size else steps[:0]
        end = begin + int(others[0]) + 1 if others.size else numbers.size
        runs.append(slice(begin, end))
        begin = end
    return runs


def _mapped(
    what: str,
    array: Dense,
    layout: ArrayLayout,
    maps: Callable[[list[np.ndarray]], list[np.ndarray]],
    *said: Any,
) -> Dense:
    """A new array: `maps` gives the indices of `array` for those of the result, all counted from 0."""
    return made_from(what, array, layout, lambda made: read_mapped(array, maps(own_places(made))), *said)


@implements(np.flip)
def _flip(m: Dense, axis: Any = None) -> Dense:
    axes = axes_of(m, axis)

    def reversed_places(places: list[np.ndarray]) -> list[np.ndarray]:
        return [m.shape[at] - 1 - one if at in axes else one for at, one in enumerate(places)]

    return _mapped("flip", m, m._layout, reversed_places, axes)


implements(np.fliplr)(lambda m: _flip(m, 1))
implements(np.flipud)(lambda m: _flip(m, 0))


@implements(np.roll)
def _roll(a: Dense, shift: Any, axis: Any = None) -> Dense:
    if axis is None and a.ndim > 1:
        raise Error(
            f"roll of {a.ndim} dimensions without an axis (elements would go on in the next row): give axis= "
            "or use np.roll(a.ravel(), shift)"
        )
    named = [0] if axis is None else np.atleast_1d(axis).tolist()
    shifts = [0] * a.ndim
    for one, by in zip(*np.broadcast_arrays(named, shift)):
        (dimension,) = axes_of(a, int(one))
        shifts[dimension] += operator.index(by)

    def shifted(places: list[np.ndarray]) -> list[np.ndarray]:
        return [(one - by) % extent for one, by, extent in zip(places, shifts, a.shape)]

    return _mapped("roll", a, a._layout, shifted, shifts)


# Of these a result has other extents.


def _with_shape(layout: ArrayLayout, shape: Sequence[int]) -> ArrayLayout:
    """The first indices stay."""
    for axis, extent in enumerate(shape):
        first = layout.bounds[axis][0]
        layout = layout.with_bounds(axis, (first, first + int(extent)))
    return layout


@implements(np.tile)
def _tile(A: Dense, reps: Any) -> Dense:
    if not isinstance(A, Dense):
        refuse("numpy.tile with reps=")
    counts = [operator.index(one) for one in (reps if np.iterable(reps) else (reps,))]
    counts = [1] * (A.ndim - len(counts)) + counts
    if min(counts) < 0 or len(counts) > 4:
        raise Error(
            f"tile with reps={reps!r} (arrays have 1 to 4 dimensions): give as many counts, from 0 on"
        )
    added, layout = len(counts) - A.ndim, A._layout
    for _ in range(added):
        layout = layout.with_axis(0, 1)
    layout = _with_shape(layout, np.multiply(layout.shape, counts))

    def read(made: Dense) -> np.ndarray:
        places = [one % extent for one, extent in zip(own_places(made)[added:], A.shape)]
        return np.broadcast_to(read_mapped(A, places), made.local.shape)

    return made_from("tile", A, layout, read, counts)


@implements(np.repeat)
def repeated(a: Dense, repeats: Any, axis: Optional[int] = None) -> Dense:
    """Each element so many times in a row; without an axis as a vector in blocks. Collective.

    `repeats`: a number, or a numpy array with one for each index of the axis. Raises Error for others.
    """
    if not isinstance(a, Dense) or isinstance(repeats, Dense):
        refuse("numpy.repeat with repeats=")
    if axis is None:
        a, axis = raveled("repeat", a), 0
    (along,) = axes_of(a, axis)
    counts = np.asarray(repeats).reshape(-1)
    if counts.dtype.kind not in "iu" or counts.size not in (1, a.shape[along]) or (counts < 0).any():
        raise Error(
            f"repeat by {counts.size} counts of {counts.dtype} (there is one for all, or for each of "
            f"{a.shape[along]} indices): give whole numbers from 0 on"
        )
    ends = np.cumsum(counts) if counts.size > 1 else None
    extent = int(ends[-1]) if ends is not None else a.shape[along] * int(counts[0]) if counts.size else 0

    def places_of(places: list[np.ndarray]) -> list[np.ndarray]:
        own = places[along]
        places[along] = own // counts[0] if ends is None else np.searchsorted(ends, own, "right")
        return places

    layout = a._layout.with_bounds(along, (a.bounds[along][0], a.bounds[along][0] + extent))
    return _mapped("repeat", a, layout, places_of, along, counts.tolist())


# What is beyond the bounds, as the place in a dimension of `extent` indices.


def _reflect(places: np.ndarray, extent: int) -> np.ndarray:
    if extent == 1:
        return np.zeros_like(places)
    places = places % (2 * extent - 2)
    return np.minimum(places, 2 * extent - 2 - places)


def _symmetric(places: np.ndarray, extent: int) -> np.ndarray:
    places = places % (2 * extent)
    return np.minimum(places, 2 * extent - 1 - places)


_BEYOND: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "edge": lambda places, extent: np.clip(places, 0, extent - 1),
    "wrap": lambda places, extent: places % extent,
    "reflect": _reflect,
    "symmetric": _symmetric,
}


@implements(np.pad)
def _pad(
    array: Dense,
    pad_width: Any,
    mode: Any = "constant",
    *,
    constant_values: Any = 0,
    reflect_type: str = "even",
) -> Dense:
    if reflect_type != "even" or (mode != "constant" and mode not in _BEYOND):
        raise Error(
            f"pad with mode={mode!r}, reflect_type={reflect_type!r} (it computes, or looks at whole rows): "
            f"use constant, {', '.join(_BEYOND)} and 'even', or np.asarray(a) if it fits"
        )
    widths = _widths(array, pad_width)
    if mode != "constant" and any(sum(one) and not extent for one, extent in zip(widths, array.shape)):
        raise Error(f"pad of shape {array.shape} with mode={mode!r} (there is no element): use 'constant'")
    values = np.broadcast_to(constant_values, (array.ndim, 2))
    layout = _with_shape(array._layout, [sum(one) + extent for one, extent in zip(widths, array.shape)])

    def read(made: Dense) -> np.ndarray:
        places = [one - before for one, (before, _) in zip(own_places(made), widths)]
        if mode != "constant":
            return read_mapped(array, [_BEYOND[mode](one, n) for one, n in zip(places, array.shape)])
        inside = [np.flatnonzero((one >= 0) & (one < n)) for one, n in zip(places, array.shape)]
        padded = np.empty(made.local.shape, array.dtype)
        padded[np.ix_(*inside)] = read_mapped(array, [one[at] for one, at in zip(places, inside)])
        for axis, (one, extent) in enumerate(zip(places, array.shape)):
            for beyond, value in ((one < 0, values[axis, 0]), (one >= extent, values[axis, 1])):
                padded[(slice(None),) * axis + (beyond,)] = value
        return padded

    return made_from("pad", array, layout, read, widths, mode, values.tolist())


def _widths(array: Dense, pad_width: Any) -> list[tuple[int, int]]:
    """How many indices come before and behind, in each dimension."""
    if isinstance(pad_width, dict):
        given = {axes_of(array, axis)[0]: width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(given.get(at, 0), 2) for at in range(array.ndim)]
    try:
        pairs = np.broadcast_to(pad_width, (array.ndim, 2))
    except ValueError:
        pairs = np.array([-1])
    if pairs.dtype.kind not in "iu" or pairs.min() < 0:
        raise Error(
            f"pad by {pad_width!r} (an array of {array.ndim} dimensions has two widths for each): give whole "
            "numbers from 0 on"
        )
    return [(int(before), int(behind)) for before, behind in pairs]


@implements(np.kron)
def _kron(a: Any, b: Any) -> Dense:
    given = [checked_operand("kron", one) for one in (a, b)]
    given = [one if isinstance(one, Dense) else np.asarray(one) for one in given]
    model = first_dense(given)
    assert model is not None
    dimensions = max(one.ndim for one in given)
    extents, inner = ((1,) * (dimensions - one.ndim) + one.shape for one in given)

    def read(made: Dense) -> np.ndarray:
        places = own_places(made)
        parts = []
        for one, of in ((given[0], operator.floordiv), (given[1], operator.mod)):
            named = [of(place, extent) for place, extent in zip(places, inner)]
            parts.append(read_mapped(one, named[dimensions - one.ndim :]))
        return np.multiply(*parts)

    layout = in_blocks(np.multiply(extents, inner).tolist())
    said = [one._layout if isinstance(one, Dense) else one.shape for one in given]
    dtype = np.multiply(*(np.empty(0, one.dtype) for one in given)).dtype
    return made_from("kron", model, layout, read, said, dtype=dtype)
