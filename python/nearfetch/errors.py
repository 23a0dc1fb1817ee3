# SPDX-License-Identifier: Apache-2.0
"""Errors that a user or the environment can cause: *problem (why it is one): what to do*."""

from __future__ import annotations


class Error(RuntimeError):
    """A problem that the user can solve."""


class CollectiveError(Error):
    """Ranks called different collective functions, or the same one with different arguments."""


class IndexingError(Error, IndexError):
    """An index out of bounds, or an unsupported kind of index."""


class NearfetchError(Error):
    """An error of the command line."""

    def __init__(self, message: str, status: int = 2) -> None:
        """`status` is the exit status of the command line."""
        super().__init__(message)
        self.status = status
