#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the references of a linked shared library to PMPI_* weak ones.

They are looked up when the interposer is loaded, of Open MPI's always, else where LD_BIND_NOW is set. The
loader would end a program for the first one that is not there: because its MPI is of another version than the
one that the interposer was built with; or because it has none, and is only started by an MPI program
(system()). A weak name that nobody has is no error until it is called.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

_DYNSYM = 11
_WEAK = 2
_SYMBOL_BYTES = 24


def main() -> None:
    """Changes the file of the command line in place."""
    path = Path(sys.argv[1])
    data = bytearray(path.read_bytes())
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit(f"{path}: not a 64-bit little-endian ELF file")
    (sections_at,) = struct.unpack_from("<Q", data, 40)
    section_bytes, sections = struct.unpack_from("<HH", data, 58)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", data, sections_at + i * section_bytes) for i in range(sections)
    ]
    for header in headers:
        if header[1] != _DYNSYM:
            continue
        start, size, names = header[4], header[5], headers[header[6]][4]
        for at in range(start, start + size, _SYMBOL_BYTES):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if section == 0 and data.startswith(b"PMPI_", names + name):
                data[at + 4] = _WEAK << 4 | info & 0xF
    path.write_bytes(data)


if __name__ == "__main__":
    main()
