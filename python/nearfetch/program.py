# SPDX-License-Identifier: Apache-2.0
"""Programs of several ranks: their launch, and their synchronisation.

>>> from nearfetch import launch, rank, ranks
>>> launch(lambda: f"{rank()} of {ranks()}", ranks=3)
['0 of 3', '1 of 3', '2 of 3']
"""

from __future__ import annotations

import contextlib
import sys
from types import FrameType
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from nearfetch import processes
from nearfetch.errors import Error
from nearfetch.native import _native

__all__ = [
    "acquire",
    "barrier",
    "compute",
    "fence",
    "launch",
    "now_ns",
    "phase",
    "rank",
    "ranks",
    "release",
    "statistics",
]


def launch(
    main: Callable[..., Any],
    ranks: Optional[int] = None,
    *,
    args: Sequence[Any] = (),
    comm: Any = None,
    mpi: Optional[bool] = None,
    cached: bool = True,
    network: str = "",
    virtual_time: bool = False,
    seed: int = 1,
    jitter_ns: int = 0,
    access_ns: Optional[int] = None,
    miss_ns: Optional[int] = None,
    overlapped_ns: Optional[int] = None,
    fence_ns: Optional[int] = None,
    copied_kib_ns: Optional[int] = None,
    cache: Optional[Mapping[str, Any]] = None,
) -> list[Any]:
    """Runs `main(*args)` in every rank; returns the results of the ranks of this process.

    Without MPI the ranks are `ranks` threads of this process (default 1). If `mpiexec` has started the
    process, or with `mpi=True`, the ranks are the processes of the MPI job; `mpi=False` makes threads
    there too. With `comm`, a communicator of mpi4py, they are its processes, with its numbers. The others
    take no part: where mpi4py has COMM_NULL, nothing runs and the result is []. Without MPI an exception of
    `main` ends all ranks and is raised here. On MPI it is printed and ends the job.

    `cached=False`: each remote read and write is a message. `cache`: settings of each rank's page cache,
    such as `{"capacity_bytes": 4 << 20}` (`nearfetch settings` lists them, with the prefix `page_cache_`).

    Threads only: `network` models one ("aries", "fdr-ib", "10gbe", "1gbe"), with random delays of up to
    `jitter_ns`. In `virtual_time` its time is counted, not waited for. An access takes `access_ns`, a
    message of the cache `miss_ns` more and `overlapped_ns` while it travels, a release `fence_ns`, and
    1 KiB that an array copies `copied_kib_ns` (None: as measured, the same as in C++).
    `seed` determines all random choices.

    Raises Error for invalid options, if MPI is asked for and missing, and in a rank of a program.

    >>> launch(lambda a, b: a + b + rank(), ranks=2, args=(10, 20))
    [30, 31]
    """
    if _native.is_running():
        raise Error(
            "launch (a rank of a program called it, and it starts a program): call it where no rank runs; "
            "after nearfetch.init() call finalize() first"
        )
    options = {
        "ranks": 1 if ranks is None else ranks,
        "cached": cached,
        "network": network,
        "virtual_time": virtual_time,
        "seed": seed,
        "jitter_ns": jitter_ns,
        "cache": checked_cache(cache or {}),
    }
    costs = {
        "access_ns": access_ns,
        "miss_ns": miss_ns,
        "overlapped_ns": overlapped_ns,
        "fence_ns": fence_ns,
        "copied_kib_ns": copied_kib_ns,
    }
    options.update((name, ns) for name, ns in costs.items() if ns is not None)
    results: dict[int, Any] = {}
    failures: list[BaseException] = []

    def body() -> None:
        try:
            results[_native.rank()] = main(*args)
        except BaseException as problem:
            failures.append(problem)
            raise

    if processes.wanted(mpi, comm):
        if not processes.is_outside(comm):
            _launch_processes(options, body, comm)
    else:
        _launch_threads(options, body, failures)
    return [results[number] for number in sorted(results)]


def _launch_threads(
    options: Mapping[str, Any], body: Callable[[], None], failures: Sequence[BaseException]
) -> None:
    try:
        _native.launch_threads(options, body, site)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # The other ranks only report that one has failed.
        if failures:
            raise failures[0] from None
        raise


def _launch_processes(options: Mapping[str, Any], body: Callable[[], None], comm: Any) -> None:
    def interruptible() -> None:
        try:
            body()
        except KeyboardInterrupt as problem:
            # At once, because unwinding may wait for ranks that never come.
            _native.end_interrupted(f"rank {_native.rank()}: {processes.text_of(problem)}")

    with processes.on_processes("launch", comm):
        place = processes.place_of(comm)
        _native.launch_processes(options, interruptible, site, processes.text_of, place)


# Frames below the program's own: functions and context managers of numpy call ours.
_NOT_THE_PROGRAM = ("nearfetch", "numpy", "contextlib")


def site() -> str:
    """Source location of the program's own code in the calling thread."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_PROGRAM:
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def checked_cache(cache: Mapping[str, Any]) -> dict[str, Any]:
    """Raises Error for a setting that the page cache does not have."""
    known = _native.cache_settings()
    for name in cache:
        if name not in known:
            raise Error(
                f"the page cache's setting '{name}' (there is none of that name): "
                f"use one of {', '.join(known)}"
            )
    return dict(cache)


def rank() -> int:
    """The number of the calling rank, from 0.

    >>> launch(rank, ranks=2)
    [0, 1]
    """
    return _native.rank()


def ranks() -> int:
    """How many ranks the program has.

    >>> launch(ranks, ranks=2)
    [2, 2]
    """
    return _native.ranks()


def barrier() -> None:
    """Waits for all ranks; their earlier writes are visible to all afterwards."""
    _native.barrier()


def acquire() -> None:
    """Later reads of this rank see nothing that was read and cached before."""
    _native.acquire()


def release() -> None:
    """Completes all writes of this rank at their owners."""
    _native.release()


def fence() -> None:
    """`release()`, then `acquire()`."""
    _native.fence()


@contextlib.contextmanager
def phase() -> Iterator[None]:
    """A phase of the program. At its end all ranks wait and see each other's writes.

    It begins with an acquire and ends with a barrier; an exception skips the barrier.

    >>> from nearfetch import BlockArray
    >>> def main():
    ...     a = BlockArray(4, dtype=int)
    ...     with phase():
    ...         a[(rank() + 2) % 4] = rank() + 1
    ...     return int(a.sum())
    >>> launch(main, ranks=4)
    [10, 10, 10, 10]
    """
    acquire()
    yield
    barrier()


def statistics() -> dict[str, int]:
    """Counters of this rank's cache and prefetched slices, by name.

    >>> launch(lambda: statistics()["get_messages"])
    [0]
    """
    return _native.statistics()


def compute(ns: int) -> None:
    """Simulates computation: in virtual time the time passes; else the processor is kept busy."""
    _native.compute(ns)


def now_ns() -> int:
    """The clock of this rank in nanoseconds, wall or virtual."""
    return _native.now_ns()
