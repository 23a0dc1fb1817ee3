# SPDX-License-Identifier: Apache-2.0
"""numpy's advanced indexing: keys with arrays of indices or masks, as the index of each element."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from nearfetch.errors import IndexingError
from nearfetch.indexing import Selection, as_numpy, column, range_of, select, word_per_dimension, words_of
from nearfetch.numerical import np

__all__ = ["Located", "Named", "is_advanced", "locate", "named_by", "places"]


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


class Named(NamedTuple):
    """What a key names in each dimension: its arrays and integers are broadcast together."""

    parts: tuple[Union[range, np.ndarray], ...]
    """The indices of a slice, or an array of indices that broadcasts to `together`."""
    together: tuple[int, ...]
    """The shape of the arrays and integers."""
    before: int
    """How many of the slices stand before these in the result."""

    @property
    def sliced(self) -> list[int]:
        """The dimensions that have a slice."""
        return [at for at, part in enumerate(self.parts) if isinstance(part, range)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result, as numpy defines it."""
        extents = tuple(len(self.parts[at]) for at in self.sliced)
        return extents[: self.before] + self.together + extents[self.before :]


def named_by(key: Any, lower: Sequence[int], upper: Sequence[int]) -> Named:
    """What a key names of an array with these bounds; of a basic key, too.

    Arrays and integers stand where they are side by side in the result, else first. Negative indices are as
    in `select`. Raises IndexingError out of bounds, for shapes that cannot be broadcast, for masks of another
    shape, and for other keys.
    """
    from_zero = not any(lower)
    unmasked = tuple(_unmasked(key, lower, upper))
    words = word_per_dimension(unmasked, len(lower))
    parts = []
    for dimension, (word, begin, end) in enumerate(zip(words, lower, upper)):
        read = range_of if isinstance(word, slice) else column
        parts.append(read(word, begin, end, from_zero, dimension))
    chosen = [at for at, word in enumerate(words) if not isinstance(word, slice)]
    try:
        together = np.broadcast_shapes(*(parts[at].shape for at in chosen))
    except ValueError as problem:
        raise IndexingError(
            f"indices of different shapes ({problem}): use arrays that can be broadcast together"
        ) from None
    return Named(tuple(parts), together, chosen[0] if chosen and _side_by_side(unmasked) else 0)


def places(key: Any, lower: Sequence[int], upper: Sequence[int]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The indices that a key names, one by one; of a basic key, too.

    Returns rows of one number per dimension in the order of the result, and its shape. Raises IndexingError
    as `named_by`.
    """
    named = named_by(key, lower, upper)
    dimensions, seen, columns = len(named.shape), 0, []
    for part in named.parts:
        behind = dimensions - named.before - len(named.together)
        if isinstance(part, range):
            behind = dimensions - 1 - seen - (len(named.together) if seen >= named.before else 0)
            seen += 1
            part = np.arange(part.start, part.stop, part.step, dtype=np.int64)
        columns.append(part.reshape(part.shape + (1,) * behind))
    known = np.broadcast_arrays(*columns)
    return np.stack([one.reshape(-1) for one in known], axis=1), known[0].shape


def _side_by_side(words: Sequence[Any]) -> bool:
    """Whether no slice or ellipsis is between arrays and integers."""
    chosen = [at for at, word in enumerate(words) if not (isinstance(word, slice) or word is Ellipsis)]
    return chosen[-1] - chosen[0] + 1 == len(chosen)


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
