# SPDX-License-Identifier: Apache-2.0
"""numpy's basic indexing for `a[...]`, as a box of the array and steps in it; and lists of indices."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Optional, Sequence

from nearfetch.errors import IndexingError
from nearfetch.numerical import np


class Selection(NamedTuple):
    """What a key selects of an array."""

    ranges: tuple[range, ...]
    """The indices of each dimension, in the order of the key."""
    kept: tuple[bool, ...]
    """Whether the result has the dimension: an integer removes it, a slice keeps it."""

    @property
    def lower(self) -> list[int]:
        """The smallest index of each dimension."""
        return [min(one[0], one[-1]) if one else 0 for one in self.ranges]

    @property
    def upper(self) -> list[int]:
        """One past the largest."""
        return [max(one[0], one[-1]) + 1 if one else 0 for one in self.ranges]

    @property
    def full_shape(self) -> tuple[int, ...]:
        """Number of selected indices of each dimension."""
        return tuple(len(one) for one in self.ranges)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result, as in numpy."""
        return tuple(len(one) for one, kept in zip(self.ranges, self.kept) if kept)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return not all(self.ranges)

    @property
    def is_box(self) -> bool:
        """Whether the selection is a whole box, in index order."""
        return all(one.step == 1 or len(one) == 1 for one in self.ranges)

    @property
    def steps(self) -> list[int]:
        """The distance of the indices of each dimension, at least 1."""
        return [abs(one.step) if len(one) > 1 else 1 for one in self.ranges]

    def turned(self, elements: np.ndarray) -> np.ndarray:
        """Elements of `full_shape` with ascending indices in the order of the key, or the other way round."""
        return elements[tuple(slice(None, None, -1 if one.step < 0 else 1) for one in self.ranges)]


def select(key: Any, lower: Sequence[int], upper: Sequence[int]) -> Selection:
    """What `key` selects of an array with these bounds.

    If all bounds begin at 0, negative indices count from the end, as in numpy. Raises IndexingError out of
    bounds, and for keys other than integers, slices and an ellipsis.
    """
    words = word_per_dimension(key, len(lower))
    from_zero = not any(lower)
    ranges, kept = [], []
    for dimension, word in enumerate(words):
        begin, end = lower[dimension], upper[dimension]
        if isinstance(word, slice):
            ranges.append(range_of(word, begin, end, from_zero, dimension))
        else:
            at = _index(word, end, from_zero, dimension)
            if not begin <= at < end:
                raise IndexingError(
                    f"index {word} of dimension {dimension} (the array has {begin} to {end - 1} there): "
                    "use one of these"
                )
            ranges.append(range(at, at + 1))
        kept.append(isinstance(word, slice))
    return Selection(tuple(ranges), tuple(kept))


def select_existing(key: Any, lower: Sequence[int], upper: Sequence[int]) -> Selection:
    """The same, but an index out of bounds selects nothing, and all dimensions are kept."""
    words = list(word_per_dimension(key, len(lower)))
    for dimension, word in enumerate(words):
        if isinstance(word, slice):
            continue
        begin, end = lower[dimension], upper[dimension]
        at = _index(word, end, not any(lower), dimension)
        words[dimension] = slice(at, at + 1) if begin <= at < end else slice(begin, begin)
    return select(tuple(words), lower, upper)


def scattered(indices: Any, lower: Sequence[int], upper: Sequence[int]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The indices that integers or integer arrays, one per dimension, name one by one.

    Returns rows of one number per dimension, and the shape of the arrays, broadcast as in numpy. Negative
    indices are as in `select`. Raises IndexingError out of bounds, and for other keys.
    """
    words = words_of(indices)
    if len(words) != len(lower):
        raise IndexingError(
            f"indices of {len(words)} dimensions (the array has {len(lower)}): use an array for each"
        )
    columns = [column(word, lower[at], upper[at], not any(lower), at) for at, word in enumerate(words)]
    if len(columns) == 1:
        return np.ascontiguousarray(columns[0].reshape(-1, 1)), columns[0].shape
    together = np.broadcast_arrays(*columns)
    rows = np.stack([one.reshape(-1) for one in together], axis=1)
    return np.ascontiguousarray(rows), together[0].shape


def column(word: Any, begin: int, end: int, from_zero: bool, dimension: int) -> np.ndarray:
    """The indices that an integer, or an integer array, names in a dimension. Raises IndexingError."""
    given = as_numpy(word)
    if given.dtype.kind not in "iu" and given.size:
        raise IndexingError(
            f"indices of {given.dtype} in dimension {dimension} (they are counted): use whole numbers"
        )
    if not given.size or (begin <= given.min() and given.max() < end):
        return given.astype(np.int64, copy=False)
    outside = (given < (begin - end if from_zero else begin)) | (given >= end)
    if outside.any():
        raise IndexingError(
            f"index {given[outside].flat[0]} of dimension {dimension} (the array has {begin} to {end - 1} "
            "there): use one of these"
        )
    known = given.astype(np.int64)
    return np.where(known < 0, known + end, known) if from_zero else known


def as_numpy(word: Any) -> np.ndarray:
    """A list or array in a key. Raises IndexingError for distributed ones."""
    if hasattr(word, "_native"):
        raise IndexingError(
            f"an index by a {type(word).__name__} (each rank would fetch all of it): use np.asarray() of it, "
            "or own elements: a.local[mask.local]"
        )
    return np.asarray(word)


def pieces_of(indices: slice, bounds: tuple[int, int]) -> list[tuple[slice, slice]]:
    """Indices that may go beyond the bounds, cut where they go on at the opposite one.

    Each piece as its place among the indices, from 0, and as the indices in bounds.
    """
    first, end = bounds
    if indices.stop <= indices.start:
        return [(slice(0, 0), indices)]
    pieces, at = [], indices.start
    while at < indices.stop:
        inside = first + (at - first) % (end - first)
        count = min(indices.stop - at, end - inside)
        target = at - indices.start
        pieces.append((slice(target, target + count), slice(inside, inside + count)))
        at += count
    return pieces


def key_of(indices: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """numpy's key for the product of these indices, which grow: slices, if each dimension has one step."""
    steps = [np.diff(one[:2]) for one in indices]
    if all((np.diff(one) == step).all() for one, step in zip(indices, steps)):
        return tuple(
            slice(int(one[0]), int(one[-1]) + 1, int(step[0]) if step.size else 1)
            if one.size
            else slice(0, 0)
            for one, step in zip(indices, steps)
        )
    return np.ix_(*indices)


def words_of(key: Any) -> tuple[Any, ...]:
    """The elements of a key, one by one."""
    return key if isinstance(key, tuple) else (key,)


def word_per_dimension(key: Any, dimensions: int) -> tuple[Any, ...]:
    """One word per dimension: an ellipsis, or the end, stands for dimensions that are not named.

    Raises IndexingError for two ellipses, and for too many dimensions.
    """
    words = words_of(key)
    gaps = [at for at, word in enumerate(words) if word is Ellipsis]
    if len(gaps) > 1:
        raise IndexingError("an index with two ellipses (their extents are ambiguous): use one ellipsis")
    named = len(words) - len(gaps)
    if named > dimensions:
        raise IndexingError(
            f"an index of {named} dimensions (the array has {dimensions}): use at most as many"
        )
    at = gaps[0] if gaps else len(words)
    return (*words[:at], *([slice(None)] * (dimensions - named)), *words[at + len(gaps) :])


def _index(word: Any, end: int, from_zero: bool, dimension: int) -> int:
    """If indices begin at 0, a negative one counts from the end."""
    at = _number(word, dimension)
    return at + end if from_zero and at < 0 else at


def _number(word: Any, dimension: int) -> int:
    if not isinstance(word, bool) and not getattr(word, "shape", ()):
        try:
            return operator.index(word)
        except TypeError:
            pass
    raise IndexingError(
        f"an index of type {type(word).__name__} in dimension {dimension} (elements are chosen by whole "
        "numbers, slices, an ellipsis, and arrays of indices or masks): use these, and numpy's functions for "
        "the array that they give"
    )


def range_of(word: slice, begin: int, end: int, from_zero: bool, dimension: int) -> range:
    """The indices that a slice names in a dimension. Raises IndexingError."""
    if from_zero:
        try:
            return range(*word.indices(end))
        except (TypeError, ValueError) as problem:
            raise IndexingError(
                f"a slice of dimension {dimension} ({problem}): use whole numbers in it"
            ) from None
    step = _part(word.step, 1, dimension)
    if step == 0:
        raise IndexingError(f"a slice of dimension {dimension} (its step is 0): use another step")
    if step > 0:
        first, last = _part(word.start, begin, dimension), _part(word.stop, end, dimension)
        return range(max(first, begin), min(last, end), step)
    first, last = _part(word.start, end - 1, dimension), _part(word.stop, begin - 1, dimension)
    return range(min(first, end - 1), max(last, begin - 1), step)


def _part(word: Optional[Any], default: int, dimension: int) -> int:
    return default if word is None else _number(word, dimension)
