# SPDX-License-Identifier: Apache-2.0
"""numpy's advanced indexing: keys with arrays of indices or masks, as the index of each element."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Sequence

from nearfetch.errors import IndexingError
from nearfetch.indexing import Selection, as_numpy, column, range_of, select, word_per_dimension, words_of
from nearfetch.numerical import np

__all__ = ["Located", "locate", "places"]


class Located(NamedTuple):
    """The elements that a key names, as the native side takes them."""

    where: tuple[Any, ...]
    """First indices, ends and steps of a box, and the bytes of rows as of `places`: one of both is empty."""
    shape: tuple[int, ...]
    """Of the result."""
    chosen: Optional[Selection] = None
    """Of a basic key that selects something."""

    def result(self, packed: np.ndarray) -> np.ndarray:
        """Elements as the native side gives them, in the order of the key."""
        if self.chosen is not None:
            packed = self.chosen.turned(packed.reshape(self.chosen.full_shape))
        return np.ascontiguousarray(packed).reshape(self.shape)

    def packed(self, values: np.ndarray) -> np.ndarray:
        """The reverse, contiguous."""
        if self.chosen is not None:
            values = self.chosen.turned(values.reshape(self.chosen.full_shape))
        return np.ascontiguousarray(values)


def locate(key: Any, lower: Sequence[int], upper: Sequence[int]) -> Located:
    """What a key names of an array with these bounds. Raises IndexingError as `select` and `places` do."""
    if not is_advanced(key):
        chosen = select(key, lower, upper)
        if not chosen.is_empty:
            steps = [] if chosen.is_box else chosen.steps
            return Located((chosen.lower, chosen.upper, steps, b""), chosen.shape, chosen)
    rows, shape = places(key, lower, upper)
    return Located(([], [], [], rows.reshape(-1).view(np.uint8)), shape)


def is_advanced(key: Any) -> bool:
    """Whether a key has arrays or lists among integers, slices and an ellipsis."""
    return any(_is_array(word) for word in words_of(key))


def places(key: Any, lower: Sequence[int], upper: Sequence[int]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The indices that a key names, one by one; of a basic key, too.

    Returns rows of one number per dimension in the order of the result, and its shape, as numpy defines
    it: arrays and integers are broadcast together, and stand where they are side by side, else first.
    Negative indices are as in `select`. Raises IndexingError out of bounds, for shapes that cannot be
    broadcast, for masks of another shape, and for other keys.
    """
    from_zero = not any(lower)
    named = tuple(_unmasked(key, lower, upper))
    words = word_per_dimension(named, len(lower))
    parts = []
    for dimension, (word, begin, end) in enumerate(zip(words, lower, upper)):
        if isinstance(word, slice):
            parts.append(_numbers(range_of(word, begin, end, from_zero, dimension)))
        else:
            parts.append(column(word, begin, end, from_zero, dimension))
    chosen = [at for at, word in enumerate(words) if not isinstance(word, slice)]
    try:
        together = np.broadcast_shapes(*(parts[at].shape for at in chosen))
    except ValueError as problem:
        raise IndexingError(
            f"indices of different shapes ({problem}): use arrays that can be broadcast together"
        ) from None
    sliced = len(words) - len(chosen)
    before = chosen[0] if chosen and _side_by_side(named) else 0
    seen = 0
    for dimension, word in enumerate(words):
        behind = sliced - before
        if isinstance(word, slice):
            axis = seen if seen < before else seen + len(together)
            behind = sliced + len(together) - axis - 1
            seen += 1
        parts[dimension] = parts[dimension].reshape(parts[dimension].shape + (1,) * behind)
    known = np.broadcast_arrays(*parts)
    return np.stack([one.reshape(-1) for one in known], axis=1), known[0].shape


def _side_by_side(words: Sequence[Any]) -> bool:
    """Whether no slice or ellipsis is between arrays and integers."""
    chosen = [at for at, word in enumerate(words) if not (isinstance(word, slice) or word is Ellipsis)]
    return chosen[-1] - chosen[0] + 1 == len(chosen)


def _numbers(one: range) -> np.ndarray:
    return np.arange(one.start, one.stop, one.step, dtype=np.int64)


def _unmasked(key: Any, lower: Sequence[int], upper: Sequence[int]) -> Iterator[Any]:
    """The words of a key; in place of a mask the indices of its true elements, in each of its dimensions."""
    words = [_array(word) if _is_array(word) else word for word in words_of(key)]
    named = sum(word.ndim if _is_mask(word) else word is not Ellipsis for word in words)
    dimension = 0
    for word in words:
        if not _is_mask(word):
            yield word
            dimension += max(len(lower) - named, 0) if word is Ellipsis else 1
            continue
        of = slice(dimension, dimension + word.ndim)
        extents = tuple(end - first for first, end in zip(lower[of], upper[of]))
        if word.shape != extents:
            raise IndexingError(
                f"a mask of shape {word.shape} from dimension {dimension} on (the array has {extents}): "
                "use a mask of that shape"
            )
        for first, indices in zip(lower[of], word.nonzero()):
            yield indices + first
        dimension += word.ndim


def _is_array(word: Any) -> bool:
    return np.iterable(word) and not isinstance(word, (str, bytes))


def _array(word: Any) -> np.ndarray:
    given = as_numpy(word)
    return given if given.size or given.dtype == bool else given.astype(np.int64)


def _is_mask(word: Any) -> bool:
    return isinstance(word, np.ndarray) and word.dtype == bool
