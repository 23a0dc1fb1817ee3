# SPDX-License-Identifier: Apache-2.0
"""Runs a script of checks: alone in threads, SCRIPT RANKS, or under mpiexec in its ranks."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Optional, Sequence

from nearfetch import launch


def given_threads(position: int = 1) -> Optional[int]:
    """How many ranks are to be threads: the argument there; None without it, under mpiexec."""
    return int(sys.argv[position]) if len(sys.argv) > position else None


def run_checks(main: Callable[..., Any], args: Sequence[object] = (), position: int = 1) -> list[Any]:
    """Runs `main` in all ranks, says that it has passed, and returns what they returned."""
    done = launch(main, ranks=given_threads(position) or 1, args=args)
    print(f"passed {len(done)}")
    return done


def run_whole_or_some(main: Callable[[bool], Any]) -> None:
    """Runs `main(whole)` as above: the whole of it in threads, and some on MPI, where it takes long.

    numpy's warnings, of conversions and divisions by zero, are not shown.
    """
    warnings.simplefilter("ignore")
    run_checks(main, [given_threads() is not None])
