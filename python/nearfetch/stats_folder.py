# SPDX-License-Identifier: Apache-2.0
"""The folder of `--stats`: prepared before the command runs, and checked afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

from nearfetch import NearfetchError
from nearfetch.run import Prepared

_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_PR_SET_PDEATHSIG = 1


def make_ready(
    path: Path,
    inside: bool = False,
    option: str = "--stats",
    earlier: Optional[Callable[[Path], list[Path]]] = None,
) -> None:
    """Makes the folder if missing, locks it for this run, and removes files of earlier runs.

    Those are what `earlier` finds, or statistics. `option` is the one that has named the folder. If another
    run writes there, and this run is part of it (`inside`), the folder is left unchanged.
    Raises NearfetchError if it is not, or the folder cannot be made or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NearfetchError(
            f"cannot make the folder '{path}' ({error.strerror}): name another by {option}"
        ) from error
    if not _lock(path):
        if inside:
            return
        raise NearfetchError(
            f"cannot write in the folder '{path}' (another run by nearfetch writes there, and the two would "
            f"be mixed): name another by {option}, or wait for its end"
        )
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
        for file in (earlier or _earlier_statistics)(path):
            file.unlink()
    except OSError as error:
        raise NearfetchError(
            f"cannot write in the folder '{path}' ({error.strerror}): name another by {option}"
        ) from error


def _earlier_statistics(path: Path) -> list[Path]:
    return [*files_of_ranks(path), *path.glob(".world-*.json.part")]


def _lock(path: Path) -> bool:
    """Locks the folder for the life of this process. False: another process has the lock.

    Some file systems have no locks. There the job's name in each file has to suffice.
    """
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def files_of_ranks(path: Path) -> list[Path]:
    """The files that ranks have written in the folder `path`."""
    name = re.compile(r"(world-[0-9a-f]+-)?rank-\d+\.json")
    return [file for file in path.glob("*rank-*.json") if name.fullmatch(file.name)]


NOT_LOADED = (
    "no rank was seen (no program came to MPI_Init with nearfetch loaded: it is linked statically, is of "
    "another MPI, or something on its way drops LD_PRELOAD): see by `ldd PROGRAM` that it loads libmpi, name "
    "its MPI by --mpi, or export what `nearfetch env` prints where the program starts"
)
"""What is said of a command none of whose ranks has nearfetch."""


@contextlib.contextmanager
def mark() -> Iterator[Path]:
    """A place for a file by which ranks show that they are there: in a folder that is gone afterwards.

    It is in the working folder, which ranks on other machines are likely to share, or else in that for
    temporary files.
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".nearfetch-", dir=os.getcwd()))
        except OSError:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="nearfetch-"))
        yield Path(folder) / "seen"


def run_and_look(prepared: Prepared, path: Optional[Path], seen: Optional[Path] = None) -> int:
    """Runs a command whose ranks write to the folder `path` and make the file `seen`; reports if none has.

    Returns the command's exit status; a signal that ended it also ends this process. Raises OSError if it
    cannot be started.
    """
    status = run_in_place(prepared)
    if status == 0 and seen and not seen.exists():
        print(f"nearfetch: {NOT_LOADED}", file=sys.stderr)
        return status
    if status == 0 and path and not files_of_ranks(path):
        print(
            f"nearfetch: no rank has used nearfetch (none has written a rank-<N>.json into '{path}': it was "
            "not loaded, or no window was made): check that the command starts a program that loads libmpi, "
            "makes a window and ends with MPI_Finalize, and that all nodes can write there",
            file=sys.stderr,
        )
    return status


def run_in_place(prepared: Prepared) -> int:
    """Runs a command as if it were this process: signals are forwarded to it.

    Returns its exit status; a signal that ended it also ends this process. Raises OSError if it cannot be
    started.
    """
    status = _run(prepared.command, prepared.environ)
    if status < 0:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        return 128 - status
    return status


def _run(command: Sequence[str], environ: dict[str, str]) -> int:
    process: Optional[subprocess.Popen[bytes]] = None

    def pass_on(number: int, _: object) -> None:
        # The terminal sends these to the command itself.
        if process and not (number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()):
            process.send_signal(number)

    numbers = [getattr(signal, name) for name in _PASSED_ON]
    libc = ctypes.CDLL(None)

    def prepare_child() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    # Blocked until the command's process is known here.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        process = subprocess.Popen(command, env=environ, close_fds=False, preexec_fn=prepare_child)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return process.wait()


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
