# SPDX-License-Identifier: Apache-2.0
"""What goes wrong by what a user, or the environment, does: *problem (why it is one): what to do*."""

from __future__ import annotations


class Error(RuntimeError):
    """A problem that the user can solve."""


class CollectiveError(Error):
    """Ranks have met in different collective functions, or in the same one with different arguments."""


class IndexingError(Error, IndexError):
    """An index that an array does not have, or a kind of index that it does not know."""


class NearfetchError(Error):
    """One of the command line."""

    def __init__(self, message: str, status: int = 2) -> None:
        """`status` is the exit code with which the command line ends."""
        super().__init__(message)
        self.status = status
