# SPDX-License-Identifier: Apache-2.0
"""Reads the shared libraries that an ELF file needs, and finds them as the dynamic loader would.

No tool is started: `ldd` runs the program's loader, and `readelf` may not be installed. Layout: System V
ABI, chapters 4 and 5 (ELF header, program header, dynamic section).
"""

from __future__ import annotations

import glob
import os
import struct
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 14, 15, 29


class Dynamic(NamedTuple):
    """Library entries of the dynamic section of a program or library."""

    needed: tuple[str, ...]
    soname: Optional[str]
    search: tuple[str, ...]
    """Folders of RPATH and RUNPATH, $ORIGIN replaced."""


def read_dynamic(path: Path) -> Optional[Dynamic]:
    """The dynamic section of the ELF file at `path`; None if it is not an ELF file or cannot be read.

    A static program gives an empty Dynamic.
    """
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            file.seek(0)
            return _parse(file.read(), path)
    except (OSError, struct.error, IndexError, ValueError):
        return None


def machine_of(path: Path) -> Optional[tuple[int, int, int]]:
    """The processor of the ELF file at `path`: width, byte order and machine; None if it is no ELF file."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if len(head) < 20 or not head.startswith(b"\x7fELF"):
        return None
    order = "<" if head[5] == 1 else ">"
    return head[4], head[5], struct.unpack_from(order + "H", head, 18)[0]


def _parse(data: bytes, path: Path) -> Dynamic:
    order = "<" if data[5] == 1 else ">"
    wide = data[4] == 2
    if wide:
        (program_headers,) = struct.unpack_from(order + "Q", data, 32)
        size, count = struct.unpack_from(order + "HH", data, 54)
    else:
        (program_headers,) = struct.unpack_from(order + "I", data, 28)
        size, count = struct.unpack_from(order + "HH", data, 42)
    loads: list[tuple[int, int, int]] = []
    dynamic: Optional[tuple[int, int]] = None
    for i in range(count):
        at = program_headers + i * size
        if wide:
            kind, _, offset, address, _, length = struct.unpack_from(order + "IIQQQQ", data, at)
        else:
            kind, offset, address, _, length = struct.unpack_from(order + "IIIII", data, at)
        if kind == _PT_LOAD:
            loads.append((address, offset, length))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, length)
    if dynamic is None:
        return Dynamic((), None, ())
    tags = list(_tags(data, dynamic, order + ("qQ" if wide else "iI")))
    strings = _file_offset(next(value for tag, value in tags if tag == _DT_STRTAB), loads)
    needed = tuple(_string(data, strings + value) for tag, value in tags if tag == _DT_NEEDED)
    sonames = [_string(data, strings + value) for tag, value in tags if tag == _DT_SONAME]
    search: list[str] = []
    origin = str(path.resolve().parent)
    for tag, value in tags:
        if tag in (_DT_RPATH, _DT_RUNPATH):
            folders = _string(data, strings + value)
            folders = folders.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            search += [folder for folder in folders.split(":") if folder]
    return Dynamic(needed, sonames[0] if sonames else None, tuple(search))


def _tags(data: bytes, dynamic: tuple[int, int], layout: str) -> Iterator[tuple[int, int]]:
    offset, length = dynamic
    for at in range(offset, offset + length, struct.calcsize(layout)):
        tag, value = struct.unpack_from(layout, data, at)
        if tag == _DT_NULL:
            return
        yield tag, value


def _file_offset(address: int, loads: list[tuple[int, int, int]]) -> int:
    for start, offset, length in loads:
        if start <= address < start + length:
            return address - start + offset
    raise ValueError(f"address {address:#x} is in no segment")


def _string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="surrogateescape")


def system_library_folders() -> list[str]:
    """The folders of /etc/ld.so.conf and the loader's built-in ones."""
    folders: list[str] = []
    _read_conf("/etc/ld.so.conf", folders, depth=0)
    machine = os.uname().machine
    for base in ("/lib", "/usr/lib"):
        folders += [f"{base}/{machine}-linux-gnu", f"{base}64", base]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def _read_conf(path: str, folders: list[str], depth: int) -> None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.split("#")[0].strip() for line in file]
    except OSError:
        return
    for line in lines:
        if line.startswith("include ") and depth < 8:
            pattern = os.path.join(os.path.dirname(path), line.split(None, 1)[1])
            for name in sorted(glob.glob(pattern)):
                _read_conf(name, folders, depth + 1)
        elif line.startswith("/"):
            folders.append(line)


def dependencies(program: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, Optional[Path]]]:
    """All libraries that `program` needs, directly or not, breadth first: (soname, path or None).

    Searches RPATH and RUNPATH of the requesting file, RPATH of the program, LD_LIBRARY_PATH, and the
    system's folders.
    """
    first = read_dynamic(program)
    if first is None:
        return
    common = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    common += system_library_folders()
    queue = [first]
    seen: set[str] = set()
    while queue:
        asker = queue.pop(0)
        for name in asker.needed:
            if name in seen:
                continue
            seen.add(name)
            path = _find_library(name, [*asker.search, *first.search, *common])
            yield name, path
            found = read_dynamic(path) if path else None
            if found:
                queue.append(found)


def _find_library(name: str, folders: list[str]) -> Optional[Path]:
    if "/" in name:
        return Path(name) if os.path.isfile(name) else None
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return Path(path)
    return None
