# SPDX-License-Identifier: Apache-2.0
"""Files and folders that take the place of old ones when all ranks have succeeded, in one step."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from typing import Any, Callable, Optional

from nearfetch.agreement import exchange, together
from nearfetch.errors import Error
from nearfetch.native import _native

__all__ = ["replace", "replace_folder"]

# Of fcntl.h and linux/fs.h.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace(
    what: str,
    path: str,
    create: Callable[[str], None],
    write: Callable[[str, str], Any] = lambda partial, remedy: None,
    *,
    is_folder: bool = False,
) -> None:
    """Rank 0 makes a file by `create(partial)`, all ranks write it, and it takes `path`. Collective.

    They write it by `write(partial, remedy)`, which is collective: it fails in all ranks or in none. Raises
    Error in all ranks if a rank fails. `path` is then as it was, and nothing else is there. Of a killed
    program a file of the name `path` with `.partial-` and a number is left.
    """
    partial = f"{path}.partial-{secrets.token_hex(4)}"
    remedy = f"{path} is as it was; remove the cause, and save again"

    def make() -> Optional[str]:
        if _native.rank() != 0:
            return None
        if os.path.isdir(path) and not is_folder:
            raise Error(f"{path} (it is a folder): give a file's path")
        create(partial)
        if os.path.isfile(path):
            shutil.copymode(path, partial)
        return partial

    def rename() -> None:
        if _native.rank() == 0:
            (replace_folder if is_folder else os.replace)(partial, path)

    try:
        partial = together(what, make, remedy)[0]
        write(partial, remedy)
        together(what, rename, remedy)
    except BaseException as problem:
        if _native.rank() == 0:
            _remove(partial)
        if isinstance(problem, Error):
            exchange(what)  # no rank goes on before it is removed
        raise


def _remove(partial: str) -> None:
    if os.path.isdir(partial):
        shutil.rmtree(partial, ignore_errors=True)
    elif os.path.exists(partial):
        os.unlink(partial)


def replace_folder(new: str, old: str) -> None:
    """`new` takes the place of `old`, which is removed.

    Where the file system cannot exchange two folders, `old` has another name for a moment: that of `new`
    with `.old` behind it.
    """
    if not os.path.lexists(old):
        os.rename(new, old)
        return
    if _exchange(new, old):
        removed = new
    else:
        removed = f"{new}.old"
        os.rename(old, removed)
        try:
            os.rename(new, old)
        except OSError:
            os.rename(removed, old)
            raise
    shutil.rmtree(removed, ignore_errors=True)


def _exchange(first: str, second: str) -> bool:
    """Exchanges the two names in one step; False where that cannot be done."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(first), os.fsencode(second)
    return rename is not None and rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0
