# SPDX-License-Identifier: Apache-2.0
"""RMA through mpi4py with numpy buffers: values as without nearfetch, and hits where it counts them.

The argument is the MPI family. mpi4py's wheel brings a module for each; left to itself it takes the MPICH
of its virtual environment.
"""

from __future__ import annotations

import ctypes
import os
import sys

import numpy as np

if sys.argv[1:] == ["openmpi"]:
    os.environ.update(MPI4PY_MPIABI="openmpi", MPI4PY_LIBMPI="libmpi.so.40")
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
RIGHT = (RANK + 1) % SIZE
failures = 0


def check(what: str, seen: object, expected: object) -> None:
    """Counts and reports a value that is not as it must be."""
    global failures
    if not np.array_equal(seen, expected):
        failures += 1
        print(f"rank {RANK}: {what}: expected {expected}, seen {seen}", file=sys.stderr)


def pattern(owner: int, version: int) -> np.ndarray:
    """What the window of `owner` holds."""
    return owner * 10000.0 + version * 1000.0 + np.arange(500.0)


def counter(win: MPI.Win, name: str) -> int | None:
    """One of nearfetch's counters, or None where it is not loaded or leaves cheap targets alone."""
    if os.environ.get("NEARFETCH_BYPASS") != "off":
        return None
    try:
        stats = ctypes.CDLL(None).nearfetch_win_stats
    except AttributeError:
        return None
    handle = ctypes.c_void_p if MPI._sizeof(MPI.Win) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
    value = ctypes.c_ulonglong()
    check(
        "nearfetch_win_stats",
        stats(handle.from_address(MPI._addressof(win)), name.encode(), ctypes.byref(value)),
        0,
    )
    return value.value


def store(win: MPI.Win, memory: np.ndarray, version: int) -> None:
    """The owners change their memory while nobody reads."""
    COMM.Barrier()
    win.Lock(RANK, MPI.LOCK_EXCLUSIVE)
    memory[:] = pattern(RANK, version)
    win.Unlock(RANK)
    COMM.Barrier()


def gets(win: MPI.Win, memory: np.ndarray) -> None:
    """Gets, puts, atomics and requests, the same ranges again and again."""
    store(win, memory, 1)
    whole = pattern(RIGHT, 1)
    column = MPI.DOUBLE.Create_vector(20, 2, 10).Commit()
    win.Lock_all()
    for _ in range(4):
        seen = np.zeros(100)
        win.Get(seen, RIGHT, (50, 100, MPI.DOUBLE))
        win.Flush(RIGHT)
        check("Get", seen, whole[50:150])
        seen = np.zeros(30)
        win.Get([seen, MPI.DOUBLE], RIGHT, 60)
        win.Flush_local(RIGHT)
        check("Get inside it", seen, whole[60:90])
        seen = np.zeros(40)
        win.Rget([seen, 40, MPI.DOUBLE], RIGHT, (200, 1, column)).Wait()
        check("Rget of a column", seen, whole[200:400].reshape(20, 10)[:, :2].ravel())
        pair = np.zeros((2, 50))
        MPI.Request.Waitall([win.Rget(pair[0], RIGHT, 100), win.Rget(pair[1], RANK, 100)])
        check("Rget", pair, [whole[100:150], pattern(RANK, 1)[100:150]])
    COMM.Barrier()
    # Only the left neighbour writes here, and sees its own writes.
    win.Put(np.full(5, 2.5), RIGHT, 450)
    win.Flush(RIGHT)
    win.Accumulate(np.full(5, 1.0), RIGHT, 450, MPI.SUM)
    win.Flush(RIGHT)
    seen, old = np.zeros(10), np.zeros(1)
    win.Get(seen, RIGHT, 448)
    win.Fetch_and_op(np.ones(1), old, RIGHT, 450, MPI.SUM)
    win.Flush_all()
    check("Fetch_and_op", old, [3.5])
    win.Get(seen, RIGHT, 448)
    win.Flush(RIGHT)
    check("own writes", seen, [*whole[448:450], 4.5, 3.5, 3.5, 3.5, 3.5, *whole[455:458]])
    win.Unlock_all()
    COMM.Barrier()
    column.Free()


def main() -> int:
    """The exit code says whether all values were right."""
    info = MPI.Info.Create({"nearfetch_mode": "user-defined"})
    for keys in (MPI.INFO_NULL, info):
        win = MPI.Win.Allocate(500 * 8, 8, keys, COMM)
        gets(win, np.frombuffer(win, dtype=np.float64))
        if keys != MPI.INFO_NULL and SIZE > 1:
            hits = counter(win, "hits")
            if hits is not None:
                check("at least 9 hits", hits >= 9, True)
        win.Free()
    if SIZE > 1:
        memory = np.zeros(500)
        win = MPI.Win.Create(memory, 8, MPI.INFO_NULL, COMM)
        gets(win, memory)
        win.Free()
    info.Free()
    total = COMM.allreduce(failures)
    if RANK == 0:
        print(f"{'FAILED' if total else 'passed'} {total} failures")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
