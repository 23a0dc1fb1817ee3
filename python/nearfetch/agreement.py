# SPDX-License-Identifier: Apache-2.0
"""Steps that succeed in all ranks or fail in all: the ranks tell each other how theirs has ended."""

from __future__ import annotations

from typing import Any, Callable, NoReturn, Optional

from nearfetch.elements import bytes_of
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np

__all__ = ["exchange", "lengths_of", "said", "together"]


def exchange(what: str, own: str = "") -> list[str]:
    """The texts of all ranks, in rank order. Collective, and a barrier.

    `what` names the collective function with the arguments that all ranks have to give alike. Raises
    CollectiveError where they do not.
    """
    sent = np.frombuffer(own.encode(), np.uint8)
    lengths = lengths_of(what, sent.size)
    longest = int(lengths.max())
    if longest == 0:
        return [""] * len(lengths)
    padded = np.zeros(longest, np.uint8)
    padded[: sent.size] = sent
    everyone = np.empty((len(lengths), longest), np.uint8)
    _native.gather(what, padded, bytes_of(everyone))
    return [bytes(text[:length]).decode() for text, length in zip(everyone, lengths)]


def lengths_of(what: str, own: int) -> np.ndarray:
    """The numbers that all ranks give, in rank order. Collective, as `exchange`."""
    lengths = np.empty(_native.ranks(), np.int64)
    _native.gather(what, bytes_of(np.array([own], np.int64)), bytes_of(lengths))
    return lengths


def said(**options: Any) -> str:
    """The options that were given, for the names of collective functions."""
    return "".join(f", {word}={value!r}" for word, value in options.items() if value is not None)


def together(what: str, step: Callable[[], Optional[str]], remedy: str) -> list[str]:
    """Runs `step` in each rank; returns the texts that it gave, in rank order. Collective.

    `step` communicates, but is not collective. Raises Error in all ranks when it has failed in one.
    """
    problem: Optional[Exception] = None
    try:
        said = "+" + (step() or "")
    except Exception as caught:
        problem = caught
        said = "=" + str(problem) if isinstance(problem, Error) else f"-{type(problem).__name__}: {problem}"
    try:
        everyone = exchange(what, said)
        for rank, text in enumerate(everyone):
            if text[0] != "+":
                _fail(what, rank, text, remedy, problem)
    finally:
        del problem  # its traceback has this frame: a cycle would keep views of own elements
    return [text[1:] for text in everyone]


def _fail(what: str, rank: int, text: str, remedy: str, problem: Optional[Exception]) -> NoReturn:
    """Raises the error of `rank`; where the calling rank has one of its own, that is its cause."""
    said = text[1:] if text[0] == "=" else f"{what} (rank {rank}: {text[1:]}): {remedy}"
    raise Error(said) from problem
