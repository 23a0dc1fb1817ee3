# SPDX-License-Identifier: Apache-2.0
"""Runs one of the programs of this folder, and prints how long it took, as JSON.

    mpiexec -n 2 python apps/python/arrays/run.py heat nearfetch --size 1000 --amount 100
    mpiexec -n 2 python apps/python/arrays/run.py heat mpi4py --size 1000 --amount 100
    python apps/python/arrays/run.py heat dask --size 1000 --amount 100

Rank 0 makes the input before, and has the result afterwards; `--save` writes it. The program runs twice: the
first time, for next to no time, loads what it loads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any, Callable, Optional

import inputs
import numpy as np

SIDES = ("nearfetch", "mpi4py", "dask")


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("problem", choices=inputs.PROBLEMS)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--size", type=int, required=True, help="rows, points or pages")
    parser.add_argument("--amount", type=float, required=True, help="steps, iterations or the tolerance")
    parser.add_argument("--workers", type=int, default=2, help="threads of dask")
    parser.add_argument("--save", type=Path, help="write the result to this .npy file")
    options = parser.parse_args()
    {"nearfetch": with_nearfetch, "mpi4py": with_mpi4py, "dask": with_dask}[options.side](options)


def with_nearfetch(options: argparse.Namespace) -> None:
    """In each rank of a program of nearfetch."""
    import nearfetch

    nearfetch.launch(lambda: measure(options, nearfetch.rank(), nearfetch.barrier))


def with_mpi4py(options: argparse.Namespace) -> None:
    """In each process of an MPI job."""
    from mpi4py import MPI

    measure(options, MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Barrier)


def with_dask(options: argparse.Namespace) -> None:
    """In one process, with dask's threads."""
    import dask

    with dask.config.set(scheduler="threads", num_workers=options.workers):
        measure(options, 0, lambda: None)


def measure(options: argparse.Namespace, rank: int, barrier: Callable[[], None]) -> None:
    """Runs the program; rank 0 prints its time and saves its result."""
    problem = inputs.PROBLEMS[options.problem]
    solve = importlib.import_module(f"{options.problem}_{options.side}").solve
    given: Optional[Any] = problem.make(options.size) if rank == 0 else None
    solve(given, *problem.arguments(problem.least))
    barrier()
    begin = time.perf_counter()
    result = solve(given, *problem.arguments(options.amount))
    barrier()
    seconds = time.perf_counter() - begin
    if rank == 0:
        print(json.dumps({"seconds": seconds}), flush=True)
        if options.save:
            np.save(options.save, result)


if __name__ == "__main__":
    main()
