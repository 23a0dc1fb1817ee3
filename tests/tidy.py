# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the layers, with the checks of .clang-tidy.

Checked is every source file of src/ that is compiled, in the variant of one MPI, with the headers that it
includes, and every header of include/nearfetch. Tests, programs and benchmarks are not: they are read by the
compilers' warnings. The static analyzer (clang-analyzer) is left out: it takes ten minutes on two cores.

Most of what a check takes is the standard library's headers. So files of one folder that are compiled alike
are checked as one translation unit. Where two of them cannot stand in one (they give a name two meanings), it
is halved. What was found clean is not checked again before a file, an option or the tool changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterable, NamedTuple, Optional, Sequence

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / "build" / "tidy"
COMMANDS = ROOT / "build" / "release" / "compile_commands.json"
_ROOTS = (ROOT / "src", ROOT / "include")
_NOT_CLANG = ("-fno-plt", "-fno-gnu-unique")
"""Options of GCC alone."""
_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


class Unit(NamedTuple):
    """Files that are checked as one translation unit."""

    name: str
    files: tuple[Path, ...]
    options: tuple[str, ...]
    """Of the compiler."""


def check(tool: str) -> Optional[str]:
    """What clang-tidy finds, if anything."""
    if not COMMANDS.exists():
        return f"there is no {COMMANDS.relative_to(ROOT)} (it has the compilers' options): run ./nf setup"
    try:
        version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        return f"cannot start {tool} ({error.strerror}): run ./nf test"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    # The longest first.
    chosen = sorted(units(), key=lambda unit: -len(unit.files))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda unit: _check_once(tool, version, unit), chosen))
    return "\n".join(text for text in found if text) or None


def units() -> list[Unit]:
    """All that is checked."""
    options: dict[Path, tuple[str, ...]] = {}
    for entry in json.loads(COMMANDS.read_text("utf-8")):
        file = Path(entry["file"])
        if file.suffix != ".cpp" or ROOT / "src" not in file.parents or not file.exists():
            continue
        # Of several MPIs Open MPI, which every build has.
        if file not in options or "NEARFETCH_MPI_OPENMPI" in entry["command"]:
            options[file] = _options(entry["command"])
    groups: dict[tuple[Path, tuple[str, ...]], list[Path]] = {}
    for file in sorted(options):
        groups.setdefault((file.parent, options[file]), []).append(file)
    found = []
    for (folder, common), files in groups.items():
        name = "-".join(folder.relative_to(ROOT).parts)
        if any(unit.name == name for unit in found):
            name += f"-{files[0].stem}"
        found.append(Unit(name, tuple(files), common))
    headers = sorted((ROOT / "include" / "nearfetch").rglob("*.h*"))
    mpi = next((unit for unit in found if unit.name == "src-mpi"), found[0])
    return [*found, Unit("include", tuple(headers), mpi.options)]


def _options(command: str) -> tuple[str, ...]:
    """Of a compiler's command what says how it reads its source."""
    words = shlex.split(command)
    compiler = next(place for place, word in enumerate(words) if word.endswith("++"))
    kept = words[compiler + 1 : words.index("-o")]
    return tuple(word for word in kept if not word.endswith("_EXPORTS") and word not in _NOT_CLANG)


def _check_once(tool: str, version: str, unit: Unit) -> Optional[str]:
    """What is found in a unit, which is looked at only if it was not clean as it is now."""
    stamp = SCRATCH / f"{unit.name}.clean"
    digest = hashlib.sha256("\0".join((version, *unit.options)).encode())
    for path in (Path(__file__), ROOT / ".clang-tidy", *_read_by(unit.files)):
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    if stamp.exists() and stamp.read_text("utf-8") == digest.hexdigest():
        return None
    problem = _check(tool, unit)
    if problem is None:
        stamp.write_text(digest.hexdigest(), "utf-8")
    return problem


def _check(tool: str, unit: Unit) -> Optional[str]:
    """What is found in a unit."""
    source = SCRATCH / f"{unit.name}.cpp"
    source.write_text("".join(f'#include "{file}"\n' for file in unit.files), "utf-8")
    command = [tool, "--quiet", str(source), "--", *unit.options, "-Wno-unknown-warning-option"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if "[clang-diagnostic-error]" in done.stdout and len(unit.files) > 1:
        middle = len(unit.files) // 2
        halves = (unit.files[:middle], unit.files[middle:])
        found = [
            _check(tool, unit._replace(name=f"{unit.name}-{number}", files=half))
            for number, half in enumerate(halves)
        ]
        return "\n".join(text for text in found if text) or None
    return done.stdout.strip()


def _read_by(files: Sequence[Path]) -> list[Path]:
    """The files and all of the project that they include."""
    seen: set[Path] = set()
    left = list(files)
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += _included(path)
    return sorted(seen)


def _included(path: Path) -> Iterable[Path]:
    for name in _INCLUDE.findall(path.read_text("utf-8")):
        for folder in (path.parent, *_ROOTS):
            if (folder / name).is_file():
                yield (folder / name).resolve()
                break
