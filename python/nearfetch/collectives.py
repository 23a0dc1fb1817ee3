# SPDX-License-Identifier: Apache-2.0
"""Collective functions of values that each rank has: scalars, numpy arrays, and what pickle can move.

Each rank puts the bytes of its value into its own part of an array, and fetches those of others.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Optional, Sequence

from nearfetch.agreement import lengths_of
from nearfetch.arrays import BlockArray
from nearfetch.elements import bytes_of
from nearfetch.errors import Error
from nearfetch.literals import one_reader
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["allreduce", "bcast", "gather"]

_OPERATIONS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "any": np.any, "all": np.all}

_MOST_BYTES = 1 << 20
"""A reduction moves so much at a time."""

_FAILED = b"!"


def allreduce(value: Any, op: str = "sum") -> Any:
    """All ranks' values in one: their `sum`, `prod`, `min`, `max`, `any` or `all`, as numpy's over the ranks.

    `value`: a number, or a numpy array of any numeric dtype; of one dtype and shape on all ranks. The result
    is the same on all ranks, to the last bit: a numpy scalar, or an array. Every rank gets all values: for
    arrays of many megabytes use a distributed array and its `sum`. Collective.

    Raises Error for other values and operations.

    >>> from nearfetch import launch, rank
    >>> def main():
    ...     return int(allreduce(rank() + 1)), allreduce(np.array([rank(), 5.0]), "max").tolist()
    >>> launch(main, ranks=3)[0]
    (6, [2.0, 5.0])
    """
    if op not in _OPERATIONS:
        raise Error(
            f"allreduce by {op!r} (it is the name of a function of numpy): use {', '.join(_OPERATIONS)}"
        )
    own = np.asarray(value)
    if own.dtype.kind not in "biufc":
        raise Error(
            f"allreduce of a {type(value).__name__}, {own.dtype} (numbers are added and compared): use a "
            "number or a numpy array of numbers, or gather()"
        )
    what = f"allreduce of {own.dtype} {own.shape} by {op}"
    flat = np.ascontiguousarray(own).reshape(-1)
    step = max(1, _MOST_BYTES // (own.itemsize * _native.ranks()))
    parts = []
    for first in range(0, max(flat.size, 1), step):
        part = flat[first : first + step]
        everyone = np.empty((_native.ranks(), part.size), own.dtype)
        _native.gather(what, bytes_of(part), bytes_of(everyone))
        parts.append(_OPERATIONS[op](everyone, axis=0))
    result = np.concatenate(parts).reshape(own.shape)
    return result if result.ndim else result[()]


def bcast(value: Any, root: int = 0) -> Any:
    """The value of the rank `root`, on all ranks. What others give is not looked at. Collective.

    numpy arrays are copied as they are, other objects by pickle. The root gets its own object back.

    Raises Error on all ranks if pickle cannot move the value, and for a rank that does not exist.

    >>> from nearfetch import launch, rank
    >>> launch(lambda: bcast({"steps": 100} if rank() == 0 else None), ranks=2)
    [{'steps': 100}, {'steps': 100}]
    """
    _check_root("bcast", root)
    what = f"bcast from rank {root}"
    is_root = _native.rank() == root
    (packed,) = _exchange(what, _packed(value) if is_root else b"", [root])
    received = _unpacked(what, root, packed)
    return value if is_root else received


def gather(value: Any, root: Optional[int] = None) -> Optional[list[Any]]:
    """All ranks' values as a list in rank order, on all ranks; with `root` on that rank, and None on others.

    Values may be of any size. numpy arrays are copied as they are, other objects by pickle. Collective.

    Raises Error where the list is wanted if pickle cannot move a value, and for a rank that does not exist.

    >>> from nearfetch import launch, rank
    >>> launch(lambda: gather("abc"[: rank() + 1], root=0), ranks=3)
    [['a', 'ab', 'abc'], None, None]
    """
    if root is not None:
        _check_root("gather", root)
    what = f"gather to {'all ranks' if root is None else f'rank {root}'}"
    wanted = root in (None, _native.rank())
    packed = _exchange(what, _packed(value), range(_native.ranks()) if wanted else ())
    return [_unpacked(what, rank, each) for rank, each in enumerate(packed)] if wanted else None


def _check_root(what: str, root: Any) -> None:
    if not hasattr(root, "__index__") or not 0 <= root < _native.ranks():
        raise Error(
            f"{what} with root={root!r} (there are ranks 0 to {_native.ranks() - 1}): use one of these"
        )


def _packed(value: Any) -> bytes:
    """The value, or why it cannot be moved: other ranks wait for one of them."""
    if type(value) is np.ndarray and not value.dtype.hasobject:
        with io.BytesIO() as file:
            np.lib.format.write_array(file, value, allow_pickle=False)
            return file.getvalue()
    try:
        return pickle.dumps(value, protocol=5)
    except Exception as problem:
        return _FAILED + f"{type(problem).__name__}: {problem}".encode()


def _unpacked(what: str, rank: int, packed: memoryview) -> Any:
    if packed[:1] == _FAILED:
        raise Error(
            f"{what} (rank {rank}: {bytes(packed[1:]).decode()}): give what pickle can move, such as "
            "numbers, arrays, and lists and dictionaries of them"
        )
    if packed[:6] == np.lib.format.MAGIC_PREFIX:
        with one_reader:
            return np.lib.format.read_array(io.BytesIO(packed), allow_pickle=False)
    return pickle.loads(packed)


def _exchange(what: str, own: bytes, sources: Sequence[int]) -> list[memoryview]:
    """The bytes of these ranks; each rank gives its own, and asks for those that it needs."""
    lengths = lengths_of(what, len(own))
    longest = int(lengths.max())
    if longest == 0:
        return [memoryview(b"") for _ in sources]
    with _native.Collective(what, []):
        everyone = BlockArray((_native.ranks(), longest), np.uint8, grid=(_native.ranks(), 1))
        everyone.local[0, : len(own)] = np.frombuffer(own, np.uint8)
        _native.barrier()
        # The memory is not used again before all ranks have dropped the array: they need not wait here.
        return [everyone[rank, : lengths[rank]].data for rank in sources]
