# SPDX-License-Identifier: Apache-2.0
"""Arrays of 100 MB, whose memory nobody has asked for before; memory that is used again, and that ends.

python growth_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import resource

import numpy as np
from array_checks import refused
from checks import run_checks

from nearfetch import BlockArray, CyclicArray, barrier, rank, ranks

SHAPE = (3300, 4000)  # of 8 bytes: 106 MB


def process_bytes(name):
    """A size of this process, by its name in /proc/self/status."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def numbered(shape=SHAPE):
    """A new array that has the numbers of its elements."""
    array = BlockArray(shape)
    rows, columns = array.local_indices
    array.local[...] = np.add.outer(float(shape[1]) * rows, columns)
    barrier()
    return array


def check(array):
    """Elements, rows and a column of all ranks."""
    rows, columns = array.shape
    for row in range(rank(), rows, rows // 7):
        assert array[row, columns - 1] == row * columns + columns - 1
        assert np.array_equal(array[row], row * columns + np.arange(columns))
    assert np.array_equal(array[::100, 3], 3 + columns * np.arange(0, rows, 100))


def large_arrays():
    """Made while others have references to earlier ones."""
    small = BlockArray(10, int)
    small.local[...] = rank()
    views = small.local
    array = numbered()
    check(array)
    assert array.sum() == array.size * (array.size - 1) / 2
    other = CyclicArray((SHAPE[0] // 8, SHAPE[1]))
    other.assign(numbered(other.shape))
    check(other)
    doubled = array + array
    assert doubled[SHAPE[0] - 1, 0] == 2 * array[SHAPE[0] - 1, 0]
    assert (views == rank()).all() and small[9] == small.owner(9)
    barrier()


def dropped_arrays():
    """Their memory is used again: a process does not grow with the number of arrays."""
    numbered()
    barrier()
    before = process_bytes("VmRSS")
    for turn in range(8):
        array = numbered((SHAPE[0] + turn, SHAPE[1]))
        check(array)
        barrier()
        del array
    assert process_bytes("VmRSS") < before + 1.5 * 8 * SHAPE[0] * SHAPE[1], "at most one more"


def resized():
    """An array that grows beyond its memory keeps its elements."""
    array = numbered((100, 4000))
    array.resize(SHAPE)
    assert array[99, 3999] == 399999 and array[SHAPE[0] - 1, 0] == 0
    barrier()


def exhausted():
    """All ranks are refused alike, and nothing is lost."""
    array = numbered()
    size = 8 * -(-(10**14) // ranks())
    refused(lambda: BlockArray(10**14), f"no memory for {size} bytes in each rank")
    refused(lambda: BlockArray(10**14), "del arrays that are done with")
    refused(lambda: array.resize((10**8, 10**7)), "no memory for")
    refused(lambda: BlockArray(2**59), "no memory for")
    check(array)
    barrier()
    before = resource.getrlimit(resource.RLIMIT_AS)
    if rank() == ranks() - 1:
        resource.setrlimit(resource.RLIMIT_AS, (process_bytes("VmSize") + (64 << 20), before[1]))
    barrier()
    try:
        refused(lambda: BlockArray((9 * SHAPE[0], SHAPE[1])), "address space")
        check(array)
        barrier()
    finally:
        if rank() == ranks() - 1:
            resource.setrlimit(resource.RLIMIT_AS, before)
    again = numbered()
    check(again)
    check(array)
    barrier()


def main():
    """All of it, in one program."""
    large_arrays()
    dropped_arrays()
    resized()
    exhausted()
    return rank()


if __name__ == "__main__":
    run_checks(main)
