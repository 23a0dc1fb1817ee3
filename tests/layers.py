# SPDX-License-Identifier: Apache-2.0
"""Which layer may include which: read from the #include lines of src/ and include/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, Optional

USES: dict[str, set[str]] = {
    "base": set(),
    "cache": {"base"},
    "policy": {"base", "cache"},
    "transport": {"base"},
    "rma": {"base", "cache", "policy", "transport"},
    "report": {"base", "cache"},
    "recording": {"base"},
    "replay": {"base", "cache", "transport", "rma", "recording"},
    "advice": {"base", "cache", "report", "recording", "replay"},
    "pgas": {"base", "cache", "transport"},
    "array": {"base", "cache", "policy", "transport", "pgas"},
    "mpi": {"base", "cache", "policy", "transport", "rma", "report", "recording"},
    "capi": {"base", "cache", "transport", "pgas"},
    "python": {"base", "cache", "transport", "pgas", "array"},
}
"""The layers, from the bottom up, and what each may use beside itself."""

PUBLIC = {
    "mpi.h": "mpi",
    "nearfetch.h": "capi",
    "pgas.hpp": "pgas",
    "pgas_mpi.hpp": "pgas",
    "sync_var.hpp": "pgas",
    "array.hpp": "array",
    "distribution.hpp": "array",
    "gather.hpp": "array",
    "ranges.hpp": "array",
    "sparse.hpp": "array",
    "stencil.hpp": "array",
}
"""What programs include, and whose it is; all else of include/nearfetch stands in detail/<layer>."""

_IMPURE = re.compile(
    r"(mpi\.h|thread|mutex|condition_variable|future|chrono|ctime|time\.h|iostream|fstream|cstdio|x86intrin\.h"
    r"|pthread\.h|unistd\.h|sys/.*)$"
)
"""What pure algorithms have no use for."""
_INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def problems(root: Path, files: list[Path]) -> Optional[str]:
    """The includes among `files` that go from a layer to one above it, one a line; None if there are none."""
    found: list[str] = []
    for path in files:
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".hpp", ".cpp", ".h", ".c", ".in"):
            continue
        layer = _layer_of(name)
        if layer is None and name.startswith(("src/", "include/")):
            found.append(f"{name}:1: belongs to no layer (tests/layers.py): move it")
        elif layer is not None:
            found += [f"{name}:{line}: {text}" for line, text in _bad_includes(name, layer, path)]
    return "\n".join(found) or None


def _layer_of(name: str) -> Optional[str]:
    """The layer of a file, by its path from the root of the source tree."""
    match = re.match(r"src/(\w+)/|include/nearfetch/detail/(\w+)/", name)
    if match:
        layer = match[1] or match[2]
        return layer if layer in USES else None
    return PUBLIC.get(name.removeprefix("include/nearfetch/")) if name.startswith("include/") else None


def _bad_includes(name: str, layer: str, path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _INCLUDE.match(line)
        if not match:
            continue
        quoted, what = match[1] == '"', match[2]
        if quoted and name.startswith("include/"):
            yield number, f"a header for programs includes {what} of src/: move what it needs to include/"
        used = _used_layer(what, quoted)
        if used is not None and used != layer and used not in USES[layer]:
            yield (
                number,
                f"{layer} includes {what} of {used} (it may use {_list(USES[layer])}): turn it round",
            )
        if layer == "cache" and _IMPURE.match(what):
            yield (
                number,
                f"cache includes {what} (its algorithms know no MPI, threads, clock or files): pass it in",
            )


def _used_layer(what: str, quoted: bool) -> Optional[str]:
    if what.startswith("nearfetch/"):
        return _layer_of(f"include/{what}")
    return _layer_of(f"src/{what}") if quoted else None


def _list(layers: set[str]) -> str:
    return ", ".join(layer for layer in USES if layer in layers) or "none"
