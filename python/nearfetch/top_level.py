# SPDX-License-Identifier: Apache-2.0
"""Programs at the top level of a script, in mpi4py's way: `init()` makes the process a rank.

    import nearfetch as nf                # mpiexec -n 4 python script.py, or python script.py alone

    nf.init()
    a = nf.BlockArray((1000, 1000))
    ...

The program ends with the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from types import TracebackType
from typing import Any, Callable, Iterator, Mapping, Optional

from nearfetch import processes
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.program import checked_cache, site

__all__ = ["finalize", "init"]


class _TopLevel:
    """The program of this process: how it was started, and what to undo when it ends."""

    def __init__(self, options: Mapping[str, Any], comm: Any) -> None:
        self.options = dict(options)
        self.comm = comm
        self.process = os.getpid()
        self.undo = contextlib.ExitStack()


_program: Optional[_TopLevel] = None


def init(
    *,
    comm: Any = None,
    mpi: Optional[bool] = None,
    cached: bool = True,
    cache: Optional[Mapping[str, Any]] = None,
) -> None:
    """Makes this process a rank, in the calling thread, until it ends or `finalize()`. Collective.

    The ranks are the processes that `mpiexec` has started, or those of `comm`, a communicator of mpi4py.
    Without `mpiexec` the process is the only rank; `mpi=True` and `mpi=False` decide it as for `launch`.
    `cached` and `cache` are as for `launch`, too.

    On MPI an exception that the script does not handle is printed with its rank, and ends the job. The end
    of the process is collective: all ranks wait for each other. A second `init` with the same arguments does
    nothing.

    Raises Error for invalid options, if MPI is wanted and missing, in a rank of another program, and if the
    process is outside of `comm`.

    >>> import nearfetch
    >>> nearfetch.init()
    >>> nearfetch.rank(), nearfetch.ranks(), nearfetch.BlockArray(3).shape
    (0, 1, (3,))
    >>> nearfetch.finalize()
    """
    global _program
    options = {"cached": cached, "cache": checked_cache(cache or {})}
    if _native.is_running():
        if _program is not None and _program.options == options and _program.comm is comm:
            return
        raise Error(
            "init (this thread is a rank already): call it once, or finalize() before other arguments"
            if _program is not None
            else "init (a rank that launch() runs called it): leave it out there"
        )
    if _program is not None:
        raise Error("init (another thread of this process has called it): use that thread")
    on_mpi = processes.wanted(mpi, comm)
    if processes.is_outside(comm):
        raise Error("init with COMM_NULL (this process is outside of the communicator): call it inside only")
    program = _TopLevel(options, comm)
    with contextlib.ExitStack() as undo:
        if on_mpi:
            undo.enter_context(processes.on_processes("init", comm))
            undo.enter_context(_exceptions_end_the_job())
        _native.begin_session(options, site, processes.place_of(comm) if on_mpi else None)
        # After the handler that ends MPI was registered, and so called before it.
        atexit.register(_end_with_process)
        undo.callback(atexit.unregister, _end_with_process)
        program.undo = undo.pop_all()
    _program = program


def finalize() -> None:
    """Ends the program of `init()` before the process ends, so that another can begin. Collective.

    Nothing happens if there is none. Raises Error, and the program goes on, if there is a view of own
    elements that MPI would take back.
    """
    _end(False)


def _end(exits: bool) -> None:
    global _program
    if _program is None:
        return
    if not _native.is_running():
        raise Error("finalize (it was not this thread that called init): call it in that thread")
    _native.end_session(exits)
    program, _program = _program, None
    program.undo.close()


def _end_with_process() -> None:
    # Not in a copy of the process, made by fork.
    if _program is not None and _program.process == os.getpid() and _native.is_running():
        _end(True)


Hook = Callable[[type[BaseException], BaseException, Optional[TracebackType]], Any]


@contextlib.contextmanager
def _exceptions_end_the_job() -> Iterator[None]:
    """While the script runs, an exception that it does not handle is told with its rank, and ends all."""
    before: Hook = sys.excepthook

    def tell(kind: type[BaseException], problem: BaseException, trace: Optional[TracebackType]) -> None:
        text = processes.text_of(problem)
        if _native.is_running():
            if issubclass(kind, KeyboardInterrupt):
                _native.end_interrupted(f"rank {_native.rank()}: {text}")
            _native.fail_session(text)
        before(kind, problem, trace)

    sys.excepthook = tell
    try:
        yield
    finally:
        if sys.excepthook is tell:
            sys.excepthook = before
