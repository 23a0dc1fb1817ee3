# SPDX-License-Identifier: Apache-2.0
"""Misuses, and that their errors speak Python: no names of C++ reach a program in Python.

python misuse_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import re
import threading

import numpy as np
from checks import given_threads

import nearfetch
from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CollectiveError,
    CyclicArray,
    Error,
    SparseMatrix,
    acquire,
    barrier,
    compute,
    fence,
    launch,
    load,
    now_ns,
    rank,
    ranks,
    release,
    save,
    statistics,
)

OF_CPP = re.compile(
    r"::|\bstd\b|LaunchOptions|\bon\(\)|\bspawn|\bspan\b|\bBox\b|\bfree\(|\ballocate\(|uint\d|int64_t|size_t"
    r"|nanobind|\bconst\b|\btemplate\b|exception of unknown type|local\(\)|Statistics|\bstruct\b|\bC\+\+"
    r"|\.hpp|\.cpp"
)

OUTSIDE = {
    "rank": rank,
    "ranks": ranks,
    "barrier": barrier,
    "acquire": acquire,
    "release": release,
    "fence": fence,
    "compute": lambda: compute(1),
    "now_ns": now_ns,
    "statistics": statistics,
    "an array": lambda: BlockArray(3),
    "a cyclic array of vectors": lambda: CyclicArray(3, (float, 3)),
    "a matrix": lambda: SparseMatrix((3, 3)),
    "from_numpy": lambda: nearfetch.from_numpy(np.zeros(3)),
    "arange": lambda: nearfetch.arange(3),
    "load": lambda: load("no such file.npy"),
    "no ranks": lambda: launch(lambda: None, 0, mpi=False),
    "half a rank": lambda: launch(lambda: None, 0.5, mpi=False),
    "a network": lambda: launch(lambda: None, 1, mpi=False, network="string"),
    "a seed": lambda: launch(lambda: None, 1, mpi=False, seed=-1),
    "a time": lambda: launch(lambda: None, 1, mpi=False, fence_ns="1"),
    "a setting": lambda: launch(lambda: None, 1, mpi=False, cache={"pages": 1}),
    "a size": lambda: launch(lambda: None, 1, mpi=False, cache={"page_bytes": 7}),
    "a cache": lambda: launch(lambda: None, 1, mpi=False, cache={"capacity_bytes": 2**60}),
    "a policy": lambda: launch(lambda: None, 1, mpi=False, cache={"policy": "best"}),
}

# The same in all ranks. a: 4 x 5 doubles, v: 6 integers, s: 4 x 4, empty.
INSIDE = {
    "an index": lambda a, v, s: a[4, 0],
    "a word": lambda a, v, s: a["x"],
    "a list beyond": lambda a, v, s: a[[0, 4]],
    "a mask": lambda a, v, s: a[np.ones((3, 5), bool)],
    "another operation": lambda a, v, s: a.accumulate(0, 1, op="xor"),
    "three indices": lambda a, v, s: a[0, 0, 0],
    "half an index": lambda a, v, s: a[0.5, 0],
    "a value": lambda a, v, s: a.__setitem__((0, 0), "x"),
    "values": lambda a, v, s: a.__setitem__(0, [1, 2]),
    "an owner": lambda a, v, s: a.owner(3),
    "take": lambda a, v, s: a.take([20]),
    "a gather": lambda a, v, s: a.gather([99]),
    "a gather beyond": lambda a, v, s: v.gather([6]),
    "memory": lambda a, v, s: BlockArray(2**50),
    "all memory": lambda a, v, s: BlockArray(2**61, "i1"),
    "memory for a resize": lambda a, v, s: a.resize((2**25, 2**25)),
    "objects": lambda a, v, s: BlockArray(3, object),
    "large elements": lambda a, v, s: BlockArray(3, "S65"),
    "large elements of a matrix": lambda a, v, s: SparseMatrix((3, 3), dtype=np.clongdouble),
    "many dimensions": lambda a, v, s: BlockArray((1,) * 5),
    "a grid": lambda a, v, s: BlockArray((2, 2), grid=(7, 7)),
    "a grid of none": lambda a, v, s: BlockArray((2, 2), grid=(0, 0)),
    "blocks": lambda a, v, s: BlockCyclicArray(5, block=0),
    "bounds": lambda a, v, s: BlockArray(bounds=[(3, 2)]),
    "huge bounds": lambda a, v, s: BlockArray(bounds=[(0, 2**63)]),
    "another resize": lambda a, v, s: a.resize(3),
    "an assign": lambda a, v, s: a.assign(BlockArray((4, 6))),
    "another kind": lambda a, v, s: a.assign(BlockArray((4, 5), "i8")),
    "no array": lambda a, v, s: a.assign(np.zeros((4, 5))),
    "no depth": lambda a, v, s: a.prefetch_stencil(0),
    "a long depth": lambda a, v, s: a.prefetch_stencil(2**70),
    "a depth in words": lambda a, v, s: a.prefetch_stencil("far"),
    "a transpose": lambda a, v, s: v.prefetch_transpose(),
    "a short table": lambda a, v, s: a.prefetch_custom([[]] * (ranks() + 1)),
    "a table of words": lambda a, v, s: a.prefetch_custom([["all"]] * ranks()),
    "no pattern": lambda a, v, s: a.update_prefetch(),
    "nothing observed": lambda a, v, s: a.prefetch_observed(),
    "no halo": lambda a, v, s: a.with_halo(-1),
    "contributions": lambda a, v, s: a.contribute((9, 9), 1),
    "contributions of text": lambda a, v, s: BlockArray(3, "S3").contribute(0, b"x"),
    "other shapes": lambda a, v, s: a + v,
    "a shape of out": lambda a, v, s: np.add(a, 1, out=v),
    "an axis": lambda a, v, s: a.sum(axis=2),
    "an axis twice": lambda a, v, s: a.sum(axis=(0, 0)),
    "nothing to compare": lambda a, v, s: BlockArray(0).max(),
    "another function": lambda a, v, s: np.linalg.svd(a),
    "a product": lambda a, v, s: a @ v,
    "a file": lambda a, v, s: load("no such file.npy"),
    "a folder": lambda a, v, s: save("no such folder/a.npy", a),
    "a suffix": lambda a, v, s: save("a.what", a),
    "a row": lambda a, v, s: s[9, 0],
    "an element that is not there": lambda a, v, s: s.__setitem__((0, 0), 1),
    "elements of others": lambda a, v, s: s.add([(-1, 0), (9, 9)]),
    "another vector": lambda a, v, s: s @ np.zeros(5),
    "a program in a program": lambda a, v, s: launch(lambda: None),
}

# What rank 0 calls, and the others.
MISMATCHES = {
    "made": (lambda a: BlockArray(3), lambda a: BlockArray(4)),
    "large": (lambda a: BlockArray(10**7), lambda a: BlockArray(10**7 + 1)),
    "filled": (lambda a: a.fill(1), lambda a: a.fill(2)),
    "resized": (lambda a: a.resize((2, 2)), lambda a: a.resize((2, 3))),
    "summed": (lambda a: a.sum(), lambda a: barrier()),
    "prefetched": (lambda a: a.prefetch_stencil(1), lambda a: a.prefetch_stencil(2)),
}


def check(title, call):
    """The call is refused, in Python's words."""
    try:
        call()
    except (
        Error,
        TypeError,
        ValueError,
        IndexError,
        KeyError,
        OSError,
        OverflowError,
        MemoryError,
    ) as problem:
        text = str(problem)
        found = OF_CPP.search(text)
        assert text and found is None, f"{title}: {found} in {text}"
        return text
    raise AssertionError(f"{title}: it is not refused")


def inside():
    """Misuses in a program; afterwards its arrays are as they were."""
    a, v, s = BlockArray((4, 5)), CyclicArray(6, int), SparseMatrix((4, 4))
    a.fill(3)
    for title, call in INSIDE.items():
        check(title, lambda call=call: call(a, v, s))
        barrier()
    assert (a[...] == 3).all() and not v[...].any() and s.nnz == 0
    in_a_thread = []
    for call in (lambda: a[0, 0], rank, barrier, lambda: BlockArray(3)):
        thread = threading.Thread(target=lambda call=call: in_a_thread.append(check("a thread", call)))
        thread.start()
        thread.join()
    assert len(in_a_thread) == 4, "each was refused"
    barrier()
    return a


def mismatches():
    """Both calls are named, in all ranks."""
    a = BlockArray((4, 5))
    for title, (one, other) in MISMATCHES.items():
        use = one if rank() == 0 else other
        text = check(title, lambda use=use: use(a))
        assert "rank 0 in" in text, text
        barrier()


def main():
    """All of it, in one program."""
    kept = inside()
    if ranks() > 1:
        mismatches()
    return kept


def words():
    """Of the most frequent errors."""
    for call in (rank, barrier, lambda: BlockArray(3)):
        text = check("outside", call)
        assert "ranks run what launch() is given, or what follows init()" in text, text
        assert "call nearfetch.init() first" in text, text


if __name__ == "__main__":
    for name, misuse in OUTSIDE.items():
        check(name, misuse)
    words()
    done = launch(main, ranks=given_threads() or 1)
    for ended in done:
        check("after the program", lambda ended=ended: ended[0, 0])
        check("a sum after the program", ended.sum)
    assert issubclass(CollectiveError, Error)
    print(f"passed {len(done)}")
