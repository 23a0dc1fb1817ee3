# SPDX-License-Identifier: Apache-2.0
"""Programs whose ranks are the processes of an MPI job: where they run, and how they are ended."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import traceback
from types import FrameType
from typing import Any, Iterator, Optional

from nearfetch import mpi_library
from nearfetch.errors import CollectiveError, Error
from nearfetch.layout import Layout
from nearfetch.native import _native

__all__ = [
    "communicator",
    "is_outside",
    "mpi",
    "on_processes",
    "place_of",
    "ranks_are_processes",
    "text_of",
    "wanted",
]

_running = threading.Lock()
_comm: Any = None
_finish_is_registered = False


def ranks_are_processes() -> bool:
    """Whether the program's ranks are the processes of an MPI job, rather than threads."""
    return _running.locked()


def communicator() -> Any:
    """The communicator of mpi4py whose processes are the program's ranks. Raises Error as `mpi()`."""
    return mpi().COMM_WORLD if _comm is None else _comm


def mpi() -> Any:
    """mpi4py's module MPI, on the MPI library of the program that runs.

    Raises Error if it cannot be imported, or has another MPI library.
    """
    try:
        import mpi4py

        if "mpi4py.MPI" not in sys.modules:
            mpi4py.rc.initialize = False  # the program has done it, in its own library
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise Error(f"mpi4py is not here ({problem}): pip install mpi4py") from None
    if not MPI.Is_initialized():
        theirs = MPI.Get_library_version().split("\n")[0].strip("\0 ")
        raise Error(
            f"mpi4py has another MPI library than the program ({theirs}, and the program has "
            f"{mpi_library.find().path}): install mpi4py for that one, or set MPI4PY_MPIABI and MPI4PY_LIBMPI"
        )
    return MPI


def wanted(mpi: Optional[bool], comm: Any) -> bool:
    """Whether a program's ranks are to be processes. By default they are if a launcher has started this one.

    Raises Error if `comm` is no communicator of mpi4py within one group of processes.
    """
    if comm is None:
        return mpi_library.launcher_family() is not None if mpi is None else mpi
    if mpi is False:
        raise Error(
            "mpi=False with comm= (threads are no processes of a communicator): leave one of the two out"
        )
    library = sys.modules.get("mpi4py.MPI")
    if library is None or not isinstance(comm, library.Comm) or isinstance(comm, library.Intercomm):
        raise Error(
            f"comm={comm!r} (it says which processes are the ranks): use an intracommunicator of mpi4py, "
            "such as MPI.COMM_WORLD"
        )
    return True


def is_outside(comm: Any) -> bool:
    """Whether this process is none of the communicator's: mpi4py then has COMM_NULL."""
    return comm is not None and comm == sys.modules["mpi4py.MPI"].COMM_NULL


def place_of(comm: Any) -> tuple[str, str, int]:
    """Where the native side runs a program: libraries, and the address of the communicator or 0.

    Raises Error if there is no MPI library.
    """
    global _finish_is_registered
    library = mpi_library.find()
    ours = Layout.of_this().python_library(library.family)
    if not _finish_is_registered:
        # MPI can be initialised once per process: it stays for the next program.
        atexit.register(_finish, os.getpid())
        _finish_is_registered = True
    address = 0 if comm is None else sys.modules["mpi4py.MPI"]._addressof(comm)
    return str(ours), str(library.path), address


def _finish(process: int) -> None:
    # Not in a copy of the process, made by fork.
    if os.getpid() == process:
        _native.finish_processes()


@contextlib.contextmanager
def on_processes(what: str, comm: Any) -> Iterator[None]:
    """While a program runs on the processes of `comm`, or all. Raises Error if there is one already."""
    global _comm
    if not _running.acquire(blocking=False):
        raise Error(
            f"{what} (this process is a rank of another program, in another thread; it can be in one at a "
            "time): let one follow the other, or use communicators without a common process"
        )
    _comm = comm
    try:
        with _interrupts_noticed():
            yield
    finally:
        _comm = None
        _running.release()


@contextlib.contextmanager
def _interrupts_noticed() -> Iterator[None]:
    """Distinguishes interrupts that the program handles from those while it waits outside of Python."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def notice(number: int, frame: Optional[FrameType]) -> Any:
        _native.notice_interrupt()
        return handler(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is notice:
            signal.signal(signal.SIGINT, handler)


def text_of(problem: BaseException) -> str:
    """The text that is printed when an exception ends an MPI job."""
    sys.stdout.flush()
    if isinstance(problem, CollectiveError):
        return str(problem)  # the same in all ranks, so that it is printed once
    return "".join(traceback.format_exception(type(problem), problem, problem.__traceback__)).rstrip()
