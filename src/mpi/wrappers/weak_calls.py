#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the references of a linked shared library to PMPI_* weak ones.

The loader looks them up when it loads the interposer: for Open MPI always, else if LD_BIND_NOW is set. It
would end the program at the first name that is missing. A name is missing if the program's MPI is older than
the mpi.h in use, or if an MPI program starts a program without MPI by system(). A weak name may be missing as
long as nobody calls it.
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
    places = (sections_at + i * section_bytes for i in range(sections))
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, place) for place in places]
    for _, kind, _, _, start, size, link, *_ in headers:
        if kind == _DYNSYM:
            for at in range(start, start + size, _SYMBOL_BYTES):
                name, info, _, section = struct.unpack_from("<IBBH", data, at)
                if section == 0 and data.startswith(b"PMPI_", headers[link][4] + name):
                    data[at + 4] = _WEAK << 4 | info & 0xF
    path.write_bytes(data)


if __name__ == "__main__":
    main()
