# SPDX-License-Identifier: Apache-2.0
"""The folder of `nearfetch record`: a file of events for each rank, compressed when the run is over."""

from __future__ import annotations

import contextlib
import gzip
import re
import shutil
import tempfile
from pathlib import Path
from typing import Iterator, Sequence

from nearfetch import NearfetchError
from nearfetch.stats_folder import NOT_LOADED
from nearfetch.terminal import show_step

_NAME = re.compile(r"(spawned-\d+-)?rank-\d+\.events(\.gz)?")
_LEVEL = 6


def files_of(folder: Path) -> list[Path]:
    """The recordings in `folder`."""
    found = [path for path in folder.glob("*rank-*.events*") if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def compress(folder: Path) -> int:
    """Compresses what ranks have written. Returns how many bytes that are then.

    Raises NearfetchError if there is nothing.
    """
    files = [path for path in files_of(folder) if path.suffix == ".events"]
    if not files:
        raise NearfetchError(NOT_LOADED)
    size = 0
    for path in _one_by_one(files, "compressing"):
        compressed = path.with_name(path.name + ".gz")
        with path.open("rb") as source, gzip.open(compressed, "wb", _LEVEL) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        path.unlink()
        size += compressed.stat().st_size
    return size


@contextlib.contextmanager
def unpacked(folder: Path) -> Iterator[list[Path]]:
    """The recordings of `folder`, not compressed. Raises NearfetchError if there are none."""
    if not folder.is_dir():
        raise NearfetchError(
            f"no folder '{folder}' (there is nothing to advise on): name one of nearfetch record -o"
        )
    files = files_of(folder)
    if not files:
        raise NearfetchError(
            f"no rank-<N>.events in '{folder}': record a run by nearfetch record -o {folder}"
        )
    with tempfile.TemporaryDirectory(prefix="nearfetch-") as place:
        plain = []
        for path in _one_by_one(files, "reading"):
            if path.suffix != ".gz":
                plain.append(path)
                continue
            plain.append(Path(place) / path.stem)
            try:
                with gzip.open(path, "rb") as source, plain[-1].open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
            except (OSError, EOFError) as error:
                raise NearfetchError(f"cannot read '{path}' ({error}): record the run again") from error
        yield plain


def _one_by_one(files: Sequence[Path], purpose: str) -> Iterator[Path]:
    """The files; a terminal is told which one it is."""
    for number, path in enumerate(files, 1):
        show_step(f"{purpose} {number} of {len(files)}")
        yield path
    show_step("")
