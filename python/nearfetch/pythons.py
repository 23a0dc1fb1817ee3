# SPDX-License-Identifier: Apache-2.0
"""Finds the Python that a command starts, and where its mpi4py looks for an MPI library.

Nothing is started. The answer is in the command's words, in the first lines of its scripts, and in the
folders of the Python's environment (mpi4py documentation, "Runtime configuration").
"""

from __future__ import annotations

import os
import re
from itertools import chain
from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from nearfetch.words import find_program, shell_commands

_PYTHON = re.compile(r"(python|pypy)[\d.]*t?$")


def library_folders(command: Sequence[str], environ: Mapping[str, str]) -> list[Path]:
    """Where the Python that `command` names looks for libmpi, in order; empty if it names none."""
    found = find_python(command, environ)
    if found is None:
        return []
    environment = found.parent.parent
    if (environment / "pyvenv.cfg").is_file():
        return [environment / "lib"]
    user = environ.get("PYTHONUSERBASE") or os.path.join(environ.get("HOME", ""), ".local")
    prefix = found.resolve().parent.parent
    # The loader finds libraries in /usr/lib, of any family.
    return [Path(user) / "lib", *([prefix / "lib"] if str(prefix) != "/usr" else [])]


def find_python(command: Sequence[str], environ: Mapping[str, str]) -> Optional[Path]:
    """The first Python among the words of `command` and of its `sh -c STRING`; else that of a script."""
    words = [*command, *chain.from_iterable(shell_commands(command))]
    for candidates in (words, _interpreters(words, environ)):
        path = environ.get("PATH")
        for word in candidates:
            if word.startswith("PATH="):
                path = word[len("PATH=") :]
            elif _PYTHON.match(os.path.basename(word)):
                found = find_program(word, environ if path is None else {**environ, "PATH": path})
                if found:
                    return found
    return None


def _interpreters(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    """The programs in the first lines of scripts: `#!/x/python`, `#!/usr/bin/env python3`."""
    for word in words:
        path = find_program(word, environ)
        try:
            first = path.open("rb").readline(256) if path else b""
        except OSError:
            continue
        if first.startswith(b"#!"):
            yield from first[2:].decode(errors="replace").split()
