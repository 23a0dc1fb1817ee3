# SPDX-License-Identifier: Apache-2.0
"""nearfetch.Window under mpiexec: values are right, and counters show their source."""

from __future__ import annotations

import ctypes

import numpy as np

import nearfetch
from nearfetch import Window

# nearfetch has to be first.
from mpi4py import MPI  # isort: skip

COMM = MPI.COMM_WORLD
TARGET = (COMM.rank + 1) % COMM.size


def pattern(owner, version=0):
    return 1000.0 * owner + 100000.0 * version + np.arange(200.0)


def read(window, first, count, version=0):
    """Reads elements of the next rank and checks them."""
    seen = np.zeros(count)
    window.Get(seen, TARGET, first)
    window.Flush(TARGET)
    assert np.array_equal(seen, pattern(TARGET, version)[first : first + count]), seen


def always_cache():
    """Data that was read is not fetched again, nor are parts of it."""
    window = Window.Create(
        pattern(COMM.rank), 8, comm=COMM, mode="always-cache", bypass=False, read_ahead_bytes=0
    )
    assert isinstance(window, MPI.Win) and type(window) is Window
    COMM.Barrier()
    with window.reading():
        for _ in range(5):
            read(window, 10, 50)
        read(window, 20, 5)
    seen = window.statistics()
    assert (seen["gets"], seen["hits"], seen["bytes_from_network"]) == (6, 5, 400), seen
    assert sum(seen[name] for name in ("hits", "direct")) == 6 and seen["puts"] == 0
    COMM.Barrier()
    window.Free()


def user_defined():
    """A new version is visible after invalidate()."""
    window = Window.Allocate(1600, 8, comm=COMM, mode="user-defined", bypass="off", buffer_bytes="1MiB")
    mine = np.frombuffer(window.tomemory(), float)
    for version in range(3):
        window.Lock(COMM.rank, MPI.LOCK_EXCLUSIVE)
        mine[...] = pattern(COMM.rank, version)
        window.Unlock(COMM.rank)
        COMM.Barrier()
        window.invalidate()
        with window.reading() as same:
            assert same is window
            window.prefetch(TARGET, 100, 20, MPI.DOUBLE)
            for outside in (200, 10**6, -(10**6), -5):  # where the window has nothing
                window.prefetch(TARGET, outside, 10, MPI.DOUBLE)
            window.Flush(TARGET)
            for _ in range(3):
                read(window, 100, 20, version)
        COMM.Barrier()
    seen = window.statistics()
    assert (seen["gets"], seen["hits"], seen["prefetches"]) == (9, 9, 3), seen
    window.Free()


def info_of_the_program_stays():
    """The program's keys stay, its object is unchanged, and unknown nearfetch keys are MPI errors."""
    info = MPI.Info.Create({"no_locks": "false", "nearfetch_mode": "always-cache"})
    window = Window.Allocate(64, 1, info, COMM, bypass=False)
    assert info.Get("nearfetch_bypass") is None
    window.Free()
    COMM.Set_errhandler(MPI.ERRORS_RETURN)
    for settings in ({"mode": "sometimes"}, {"buffer_bytes": "many"}):
        try:
            Window.Allocate(64, comm=COMM, **settings)
        except MPI.Exception:
            continue
        raise AssertionError(settings)


if __name__ == "__main__":
    assert ctypes.CDLL(None).nearfetch_win_stats and nearfetch.Window is Window
    always_cache()
    user_defined()
    info_of_the_program_stays()
    print("passed", flush=True)
