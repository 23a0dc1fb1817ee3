# SPDX-License-Identifier: Apache-2.0
"""Saves that fail in the middle.

python failing_saves.py HOW FILE [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
from pathlib import Path

from nearfetch import BlockArray, Error, barrier, boxes, formats, launch, random, rank, save

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


def no_space():
    """As a write to a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def main(how, path):
    """Saves a large array, which fails, then a small one."""
    array = random((1000, 1000))  # so that nothing becomes much smaller by compression
    try:
        save(path, array)
    except Error as problem:
        assert "is as it was" in str(problem), problem
        print(f"failed as it should: {problem}", flush=True)
    barrier()
    if how == "limit" and rank() == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    barrier()
    small = BlockArray(2)
    small.fill(1)
    KINDS[path.suffix].writing = ORIGINAL
    save(path.with_stem("saved"), small)


if __name__ == "__main__":
    how, path = sys.argv[1], Path(sys.argv[2])
    ORIGINAL = KINDS[path.suffix].writing
    boxes.BOX_BYTES = 1 << 19
    if how == "raise":
        broken(KINDS[path.suffix], no_space)
    elif how == "kill":
        broken(KINDS[path.suffix], lambda: os.kill(os.getpid(), signal.SIGKILL))
    elif how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, resource.RLIM_INFINITY))
    launch(main, ranks=int(sys.argv[3]) if len(sys.argv) > 3 else 1, args=[how, path])
