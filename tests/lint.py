# SPDX-License-Identifier: Apache-2.0
"""Checks of the source text: formatting, lint, licence lines, budgets, and that headers compile alone.

`python tests/lint.py spdx ruff-check` runs some of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent))

import budgets  # noqa: E402
import classes as class_sizes  # noqa: E402
import glossary as replaced_words  # noqa: E402
import layers as layer_rules  # noqa: E402
import tidy  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
_LICENSED = {".cpp", ".hpp", ".h", ".c", ".f90", ".py", ".cmake", ".sh"}
_LINE = "SPDX-License-Identifier: Apache-2.0"


def source_files() -> list[Path]:
    """The project's own files: what git knows or would take, else all outside of build and hidden folders."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True,
            check=True,
        )
        names = listed.stdout.decode().split("\0")
        return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in ("build", "__pycache__")
        ]
        found += [Path(folder) / name for name in names]
    return sorted(found)


def spdx(files: list[Path]) -> Optional[str]:
    """Every source file names the licence in its first two lines (the first may be a #! line)."""
    bad = []
    for path in files:
        if path.suffix in _LICENSED or path.name in ("CMakeLists.txt", "nf"):
            with open(path, encoding="utf-8") as file:
                first = file.readline() + file.readline()
            if _LINE not in first:
                bad.append(f"{path.relative_to(ROOT)}:1: no '{_LINE}'")
    return "\n".join(bad) or None


def clang_format(files: list[Path]) -> Optional[str]:
    """C and C++ sources are formatted as .clang-format says."""
    chosen = [str(path) for path in files if path.suffix in (".cpp", ".hpp", ".h", ".c")]
    if not chosen:
        return None
    tool = _tool("clang-format")
    problem = _output_if_failed([tool, "--dry-run", "-Werror", *chosen])
    if problem is None:
        return None
    bad = sorted({line.split(":")[0] for line in problem.splitlines() if "clang-format-violations" in line})
    names = [os.path.relpath(path, ROOT) for path in bad]
    return f"to repair: {os.path.relpath(tool, ROOT)} -i {' '.join(names)}" if names else problem


def ruff_check(files: list[Path]) -> Optional[str]:
    """Python sources pass ruff's checks."""
    return _output_if_failed([_tool("ruff"), "check", "--no-cache", "--quiet", *_python(files)])


def ruff_format(files: list[Path]) -> Optional[str]:
    """Python sources are formatted by ruff."""
    return _output_if_failed([_tool("ruff"), "format", "--no-cache", "--check", "--quiet", *_python(files)])


def headers(files: list[Path]) -> Optional[str]:
    """Every header compiles alone; those of include/ as C11 too where they are C headers."""
    others = [*_mpi_includes(), *_python_includes()]
    jobs: list[list[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, path in enumerate(path for path in files if path.suffix in (".hpp", ".h")):
            roots = ["-I", str(ROOT / "include"), "-I", str(ROOT / "src"), "-I", str(ROOT / "apps"), *others]
            definitions = ["-DNF_CHECKS=1", "-DNEARFETCH_MPI_OPENMPI=1", '-DNEARFETCH_MPI_FAMILY="openmpi"']
            warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]
            warnings.append("-Wno-restrict")
            common = ["-fsyntax-only", *warnings, *definitions, *roots]
            unit = Path(scratch) / f"unit{number}.cpp"
            unit.write_text(f'#include "{path}"\n#include "{path}"\n', encoding="utf-8")
            jobs.append(["c++", "-std=c++20", *common, str(unit)])
            if path.suffix == ".h":
                unit = unit.with_suffix(".c")
                unit.write_text(f'#include "{path}"\n', encoding="utf-8")
                jobs.append(["cc", "-std=c11", "-Wpedantic", *common, str(unit)])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(_output_if_failed, jobs))
    return "\n".join(result for result in results if result) or None


def layers(files: list[Path]) -> Optional[str]:
    """No layer includes one above it, and no header for programs a source's."""
    return layer_rules.problems(ROOT, files)


def classes(files: list[Path]) -> Optional[str]:
    """No class has more than 20 public methods."""
    return class_sizes.problems(ROOT, files)


def glossary(files: list[Path]) -> Optional[str]:
    """No word is used that docs/glossary.md replaces."""
    return replaced_words.problems(ROOT, files)


def version(files: list[Path]) -> Optional[str]:
    """CHANGELOG.md says what is new in the version that the package has."""
    package = (ROOT / "python" / "nearfetch" / "__init__.py").read_text(encoding="utf-8")
    number = package.split('__version__ = "')[1].split('"')[0]
    if f"\n## [{number}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        return None
    return (
        f"CHANGELOG.md has no section '## [{number}] - DATE' (python/nearfetch has version {number}): add it"
    )


def clang_tidy(files: list[Path]) -> Optional[str]:
    """The layers pass the checks of .clang-tidy (tidy.py)."""
    return tidy.check(_tool("clang-tidy"))


def docs(files: list[Path]) -> Optional[str]:
    """The site of the documents and the API reference is built without a warning."""
    return _output_if_failed([sys.executable, str(ROOT / "docs" / "site" / "build.py")])


CHECKS: dict[str, Callable[[list[Path]], Optional[str]]] = {
    "lint.spdx": spdx,
    "lint.clang-format": clang_format,
    "lint.ruff-check": ruff_check,
    "lint.ruff-format": ruff_format,
    "lint.version": version,
    "lint.headers": headers,
    "lint.layers": layers,
    "lint.classes": classes,
    "lint.glossary": glossary,
    "lint.budgets": budgets.problems,
    "lint.clang-tidy": clang_tidy,
    "lint.docs": docs,
}


def run(names: Sequence[str]) -> list[bool]:
    """Runs these checks and shows how they end; returns which of them passed."""
    files = source_files()
    passed = []
    for name in names:
        problem = CHECKS[name](files)
        print(f"{name:.<50} {'FAILED' if problem else 'passed'}", flush=True)
        if problem:
            print(problem, flush=True)
        passed.append(problem is None)
    return passed


def main(words: Sequence[str]) -> int:
    """Runs the checks that the command line names, or all."""
    names = [f"lint.{word}" for word in words] or list(CHECKS)
    unknown = [name.removeprefix("lint.") for name in names if name not in CHECKS]
    if unknown:
        known = " ".join(name.removeprefix("lint.") for name in CHECKS)
        print(f"lint.py: no check {unknown[0]} (there are: {known}): name one of these", file=sys.stderr)
        return 2
    return 0 if all(run(names)) else 1


def _python(files: list[Path]) -> list[str]:
    return [str(path) for path in files if path.suffix == ".py"]


def _tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def _mpi_includes() -> list[str]:
    wrapper = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if not wrapper:
        return []
    shown = subprocess.run([wrapper, "-show"], capture_output=True, text=True, check=True).stdout.split()
    folders = [word[2:] for word in shown if word.startswith("-I")]
    return ["-DOMPI_SKIP_MPICXX=1", *(word for folder in folders for word in ("-isystem", folder))]


def _python_includes() -> list[str]:
    """Of what the native module of the Python package is made with."""
    try:
        import nanobind
    except ImportError:
        return []
    folders = [sysconfig.get_paths()["include"], nanobind.include_dir()]
    return [word for folder in folders for word in ("-isystem", folder)]


def _output_if_failed(command: list[str]) -> Optional[str]:
    try:
        result = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        return f"cannot start {command[0]} ({error.strerror}): run ./nf setup"
    return (
        None if result.returncode == 0 else result.stdout.strip() or f"{command[0]}: exit {result.returncode}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
