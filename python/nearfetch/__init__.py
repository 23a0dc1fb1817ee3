# SPDX-License-Identifier: Apache-2.0
"""nearfetch keeps remote memory near: caching for one-sided communication.

This package is the command line (`nearfetch run`, `nearfetch settings`) and what it is made of. It needs
nothing but the standard library.
"""

from __future__ import annotations

__version__ = "0.1.0"


class NearfetchError(Exception):
    """A problem that the user can solve; reads *problem (why it is one): what to do*."""

    def __init__(self, message: str, status: int = 2) -> None:
        """`status` is the exit code with which the command line ends."""
        super().__init__(message)
        self.status = status
