# SPDX-License-Identifier: Apache-2.0
"""Fakes: ELF files with chosen libraries, launchers with a chosen version text, a nearfetch not built."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Callable, Sequence

import pytest

from nearfetch.elf import dependencies
from nearfetch.layout import Layout
from nearfetch.mpiexec import without_nearfetch

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
DRIVER = """
import sys
from pathlib import Path
from nearfetch.cli import main
from nearfetch.layout import Layout
sys.exit(main(sys.argv[3:], Layout(Path(sys.argv[1]), Path(sys.argv[2]))))
"""
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

SETTINGS_PROGRAM = """\
#!/bin/sh
# A fake nearfetch-settings: a table, and the check of mode.
if [ $# -eq 0 ]; then
    echo '[{"name":"mode","default":"transparent","unit":"","allowed":"off","meaning":"when to forget"},
           {"name":"buffer_bytes","default":"32MiB","unit":"bytes","allowed":"a size","meaning":"buffer"},
           {"name":"stats_dir","default":"","unit":"","allowed":"","meaning":"where"},
           {"name":"job","default":"","unit":"","allowed":"","meaning":"whose"}]'
    exit 0
fi
for word in "$@"; do
    case "$word" in
    mode=off | mode=transparent | buffer_bytes=* | stats_dir=* | job=* | summary=*) ;;
    *) echo "nearfetch: bad $word" >&2; exit 2 ;;
    esac
done
"""


def elf_image(
    needed: Sequence[str] = (),
    soname: str = "",
    runpath: str = "",
    wide: bool = True,
    order: str = "<",
    address: int = 0x400000,
) -> bytes:
    """A minimal shared object: one segment at `address`, with a dynamic section and its strings."""
    strings = b"\0"
    tags: list[tuple[int, int]] = []
    for tag, text in [*((1, name) for name in needed), (14, soname), (29, runpath)]:
        if text:
            tags.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    header, program_header, entry = (64, 56, 16) if wide else (52, 32, 8)
    dynamic_at = header + 2 * program_header
    strings_at = dynamic_at + (len(tags) + 2) * entry
    tags += [(5, address + strings_at), (0, 0)]
    dynamic = b"".join(struct.pack(order + ("qQ" if wide else "iI"), *tag) for tag in tags)
    size = strings_at + len(strings)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    head = struct.pack(
        order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"),
        *(3, 62, 1, 0, header, 0, 0, header, program_header, 2, 0, 0, 0),
    )

    def segment(kind: int, offset: int, length: int) -> bytes:
        if wide:
            return struct.pack(order + "IIQQQQQQ", kind, 4, offset, address + offset, 0, length, length, 8)
        return struct.pack(order + "IIIIIIII", kind, offset, address + offset, 0, length, length, 4, 8)

    return ident + head + segment(1, 0, size) + segment(2, dynamic_at, len(dynamic)) + dynamic + strings


@pytest.fixture
def bench_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the tests' own MPI jobs."""
    from launch import environment

    from bench import harness

    for name, value in environment(dict(os.environ), harness.BUILD, 4).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def elf(tmp_path: Path) -> Callable[..., Path]:
    """Writes an ELF file under the test's folder."""

    def write(name: str, *needed: str, **options: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(elf_image(needed, **options))  # type: ignore[arg-type]
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a shell script under the test's folder."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n" if not text.startswith("#!") else text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def compile_c() -> Callable[..., None]:
    """Calls the C compiler with a source and options, as `-o FILE` and libraries."""

    def call(source: str, *options: object) -> None:
        if shutil.which("cc") is None:
            pytest.skip("no C compiler")
        command = ["cc", "-xc", "-", "-xnone", *map(str, options)]
        subprocess.run(command, input=source, text=True, check=True)

    return call


@pytest.fixture
def launchers(
    elf: Callable[..., Path], script: Callable[[str, str], Path], tmp_path: Path
) -> dict[str, Path]:
    """Two MPI installations, each with mpiexec and libmpi; its runs print their arguments, one a line."""
    show = 'for word in "$@"; do printf "%s\\n" "$word"; done; exit 7'
    for name, version, libmpi in (
        ("mpich", "HYDRA build details:", "libmpi.so.12"),
        ("openmpi", "mpiexec (OpenRTE) 4.1.4", "libmpi.so.40"),
    ):
        body = (
            f'echo started >> {tmp_path}/{name}.log\n[ "$1" = --version ] && {{ echo "{version}"; exit; }}\n'
        )
        script(f"{name}/bin/mpiexec", body + show)
        elf(f"{name}/lib/{libmpi}", soname=libmpi)
    return {name: tmp_path / name / "bin" / "mpiexec" for name in ("mpich", "openmpi")}


@pytest.fixture
def layout(elf: Callable[..., Path], script: Callable[[str, str], Path], tmp_path: Path) -> Layout:
    """A nearfetch built for MPICH and Open MPI. Some tests really load the first, so it is a real library."""
    elf("nf/lib/libnearfetch_mpi_openmpi.so", "libmpi.so.40")
    found = [
        path
        for name, path in dependencies(Path(sys.executable).resolve(), os.environ)
        if path and "libm." in name
    ]
    shutil.copy(found[0], tmp_path / "nf" / "lib" / "libnearfetch_mpi_mpich.so")
    program = script("nf/bin/nearfetch-settings", SETTINGS_PROGRAM)
    return Layout(tmp_path / "nf" / "lib", program)


@pytest.fixture
def nearfetch(layout):
    """Runs the command line in its own process: `run` replaces the process."""

    def run(*words: object, **environ: str) -> subprocess.CompletedProcess[str]:
        clean = without_nearfetch(os.environ)
        return subprocess.run(
            [sys.executable, "-c", DRIVER, *layout[:2], *map(str, words)],
            env={**clean, "PYTHONPATH": str(PACKAGE), **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
