# SPDX-License-Identifier: Apache-2.0
"""Saves that fail in the middle.

python failing_saves.py HOW FILE [RANKS]      # threads; under mpiexec the ranks of the job

HOW is raise, kill, limit, fill, or mpi- with one of them, or mpi-write: then MPI-IO finds out by itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
from pathlib import Path

from nearfetch import (
    BlockArray,
    CyclicArray,
    Error,
    barrier,
    boxes,
    formats,
    launch,
    mpi_io,
    random,
    rank,
    ranks,
    save,
)

KINDS = {".npy": formats.Npy, ".raw": formats.Raw, ".h5": formats.Hdf5, ".zarr": formats.Zarr}


def broken(kind, fail):
    """Lets the second box of the last rank that writes fail."""
    writing = kind.writing

    @contextlib.contextmanager
    def failing(self, partial, what):
        with writing(self, partial, what) as write:
            count = 0

            def maybe(box, values):
                nonlocal count
                count += 1
                if count == 2 and rank() == self.writers() // 2:
                    fail()
                write(box, values)

            yield maybe

    kind.writing = failing


def broken_mpi_io(fail, everywhere=False):
    """Calls `fail` before the second box of the last rank, or of all ranks."""
    count = 0

    def prepare(self, box):
        nonlocal count
        count += 1
        if count == 2 and (everywhere or rank() == ranks() - 1):
            fail()
        PREPARE(self, box)

    mpi_io._Mover.prepare = prepare


def no_space():
    """As a write to a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def limit_files(most_bytes):
    """Of this process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))


def main(how, path):
    """Saves a large array, which fails, then a small one."""
    # So that nothing becomes much smaller by compression, and nobody's part is contiguous.
    array = random((1000, 1000), distribution=CyclicArray)
    by_mpi_io = {"mpi_io": True} if how.startswith("mpi-") else {}
    barrier()
    if how == "mpi-limit":
        limit_files(1 << 18)  # MPI's own files are there
    try:
        save(path, array, **by_mpi_io)
    except Error as problem:
        assert "is as it was" in str(problem), problem
        print(f"failed as it should: {problem}", flush=True)
    barrier()
    if how in ("limit", "mpi-limit", "mpi-write"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    barrier()
    small = BlockArray(2)
    small.fill(1)
    KINDS[path.suffix].writing = ORIGINAL
    mpi_io._Mover.prepare = PREPARE
    save(path.with_stem("saved"), small, **by_mpi_io)


if __name__ == "__main__":
    how, path = sys.argv[1], Path(sys.argv[2])
    ORIGINAL, PREPARE = KINDS[path.suffix].writing, mpi_io._Mover.prepare
    boxes.BOX_BYTES = 1 << 19
    if how == "raise":
        broken(KINDS[path.suffix], no_space)
    elif how == "kill":
        broken(KINDS[path.suffix], lambda: os.kill(os.getpid(), signal.SIGKILL))
    elif how == "mpi-raise":
        broken_mpi_io(no_space)
    elif how == "mpi-kill":
        broken_mpi_io(lambda: os.kill(os.getpid(), signal.SIGKILL))
    elif how == "mpi-write":
        broken_mpi_io(lambda: limit_files(1 << 18), everywhere=True)
    elif how == "limit":
        limit_files(1 << 18)
    launch(main, ranks=int(sys.argv[3]) if len(sys.argv) > 3 else 1, args=[how, path])
