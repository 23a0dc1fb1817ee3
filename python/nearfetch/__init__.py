# SPDX-License-Identifier: Apache-2.0
"""nearfetch keeps remote memory near: distributed arrays, MPI windows with a cache, and the command line.

The command line (`nearfetch run`, `nearfetch settings`) needs only the standard library. The rest of the
package is imported at its first use.

>>> import nearfetch
>>> def main():
...     a = nearfetch.BlockArray(8, dtype=int)
...     a.local[...] = nearfetch.rank()
...     nearfetch.barrier()
...     return int(a[7])
>>> nearfetch.launch(main, ranks=2)
[1, 1]

The command line (`nearfetch run`, `nearfetch settings`) needs nothing but the standard library: the rest of
the package is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nearfetch.errors import CollectiveError, Error, IndexingError, NearfetchError

if TYPE_CHECKING:
    from nearfetch.arrays import (
        ArrayTransfer,
        BlockArray,
        BlockCyclicArray,
        CyclicArray,
        DistributedArray,
        PrefetchPhase,
        PrefetchTransfer,
    )
    from nearfetch.collectives import allreduce, bcast, gather
    from nearfetch.constructors import arange, from_function, from_numpy, from_scipy, linspace, random
    from nearfetch.files import load, save
    from nearfetch.gathering import Gather
    from nearfetch.program import (
        acquire,
        barrier,
        compute,
        fence,
        launch,
        now_ns,
        phase,
        rank,
        ranks,
        release,
        statistics,
    )
    from nearfetch.sparse import LocalRows, SparseMatrix
    from nearfetch.top_level import finalize, init
    from nearfetch.window import Window

__version__ = "0.1.0"

__all__ = [
    "ArrayTransfer",
    "BlockArray",
    "BlockCyclicArray",
    "CollectiveError",
    "CyclicArray",
    "DistributedArray",
    "Error",
    "Gather",
    "IndexingError",
    "LocalRows",
    "NearfetchError",
    "PrefetchPhase",
    "PrefetchTransfer",
    "SparseMatrix",
    "Window",
    "acquire",
    "allreduce",
    "arange",
    "barrier",
    "bcast",
    "compute",
    "fence",
    "finalize",
    "from_function",
    "from_numpy",
    "from_scipy",
    "gather",
    "init",
    "launch",
    "linspace",
    "load",
    "now_ns",
    "phase",
    "random",
    "rank",
    "ranks",
    "release",
    "save",
    "statistics",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'nearfetch' has no attribute '{name}'")
    # Functions are in program, classes in arrays, except these.
    elsewhere = {
        **dict.fromkeys(("allreduce", "bcast", "gather"), "collectives"),
        **dict.fromkeys(("finalize", "init"), "top_level"),
        **dict.fromkeys(
            ("arange", "from_function", "from_numpy", "from_scipy", "linspace", "random"), "constructors"
        ),
        **dict.fromkeys(("load", "save"), "files"),
        "Gather": "gathering",
        "LocalRows": "sparse",
        "SparseMatrix": "sparse",
        "Window": "window",
    }
    module = elsewhere.get(name, "program" if name.islower() else "arrays")
    value = getattr(importlib.import_module(f"nearfetch.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
