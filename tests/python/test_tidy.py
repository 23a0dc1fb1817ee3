# SPDX-License-Identifier: Apache-2.0
"""The check by clang-tidy: what is checked together, what is checked again, and what it says."""

from __future__ import annotations

import json

import pytest
import tidy

# Stands for clang-tidy: notes the units, refuses `clash` beside another file, and finds what says `fault`.
TOOL = """\
#!/bin/sh
[ "$1" = --version ] && { echo fake 1; exit; }
unit="$2"
echo "$(basename "$unit" .cpp)" >> "$(dirname "$unit")/ran"
files=$(sed 's/#include "//;s/"//' "$unit")
if [ $(echo "$files" | wc -l) -gt 1 ] && grep -q clash $files; then
    echo "x.cpp:1:1: error: redefinition of 'x' [clang-diagnostic-error]"
    exit 1
fi
grep -H fault $files && exit 1
exit 0
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two layers, of which one is compiled for two MPIs."""
    for name, text in {
        "src/cache/a.cpp": '#include "cache/a.hpp"\n',
        "src/cache/a.hpp": "",
        "src/cache/b.cpp": "",
        "src/mpi/get.cpp": "#include <nearfetch/x.hpp>\n",
        "include/nearfetch/x.hpp": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".clang-tidy").write_text("Checks: []\n")
    commands = [
        ("cache/b", "-DB"),
        ("cache/a", ""),
        ("mpi/get", "-DNEARFETCH_MPI_OPENMPI=1"),
        ("mpi/get", "-DX"),
    ]
    entries = [
        {
            "file": f"{tmp_path}/src/{name}.cpp",
            "command": f"/usr/bin/c++ -DT_EXPORTS {options} -I{tmp_path}/src -o x.o -c {name}.cpp",
        }
        for name, options in commands
    ]
    (tmp_path / "build/release").mkdir(parents=True)
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    monkeypatch.setattr(tidy, "SCRATCH", tmp_path / "build/tidy")
    monkeypatch.setattr(tidy, "COMMANDS", tmp_path / "build/release/compile_commands.json")
    monkeypatch.setattr(tidy, "_ROOTS", (tmp_path / "src", tmp_path / "include"))
    (tmp_path / "tool").write_text(TOOL)
    (tmp_path / "tool").chmod(0o755)
    tidy.COMMANDS.write_text(json.dumps(entries))
    return tmp_path


def ran(project) -> list[str]:
    """The units that were checked since the last call."""
    notes = project / "build/tidy/ran"
    names = sorted(notes.read_text().split()) if notes.exists() else []
    notes.unlink(missing_ok=True)
    return names


def alike(project) -> None:
    """Compiles both files of the layer `cache` with the same options."""
    tidy.COMMANDS.write_text(tidy.COMMANDS.read_text().replace("-DB", ""))


def test_files_that_are_compiled_alike_are_one_unit(project):
    names = {unit.name: [file.name for file in unit.files] for unit in tidy.units()}
    assert names == {
        "src-cache": ["a.cpp"],
        "src-cache-b": ["b.cpp"],
        "src-mpi": ["get.cpp"],
        "include": ["x.hpp"],
    }
    alike(project)
    names = {unit.name: [file.name for file in unit.files] for unit in tidy.units()}
    assert names["src-cache"] == ["a.cpp", "b.cpp"]


def test_options_are_those_of_open_mpi_without_the_target_s(project):
    options = {unit.name: unit.options for unit in tidy.units()}
    assert options["src-mpi"] == ("-DNEARFETCH_MPI_OPENMPI=1", f"-I{project}/src")
    assert options["include"] == options["src-mpi"]


def test_what_is_clean_is_checked_again_when_something_changes(project):
    alike(project)
    tool = str(project / "tool")
    assert tidy.check(tool) is None
    assert ran(project) == ["include", "src-cache", "src-mpi"]
    assert tidy.check(tool) is None
    assert ran(project) == []
    (project / "src/cache/a.hpp").write_text("// changed\n")
    assert tidy.check(tool) is None
    assert ran(project) == ["src-cache"]
    (project / "include/nearfetch/x.hpp").write_text("// changed\n")
    assert tidy.check(tool) is None
    assert ran(project) == ["include", "src-mpi"]
    (project / ".clang-tidy").write_text("Checks: [bugprone-*]\n")
    assert tidy.check(tool) is None
    assert len(ran(project)) == 3


def test_a_finding_is_shown_until_it_is_repaired(project):
    (project / "src/cache/b.cpp").write_text("fault\n")
    tool = str(project / "tool")
    for _ in range(2):
        assert "src/cache/b.cpp:fault" in (tidy.check(tool) or "")
    (project / "src/cache/b.cpp").write_text("\n")
    assert tidy.check(tool) is None


def test_files_that_cannot_stand_together_are_checked_apart(project):
    alike(project)
    (project / "src/cache/a.cpp").write_text("clash\n")
    tool = str(project / "tool")
    assert tidy.check(tool) is None
    assert [name for name in ran(project) if "cache" in name] == ["src-cache", "src-cache-0", "src-cache-1"]
    (project / "src/cache/b.cpp").write_text("fault\n")
    assert "b.cpp:fault" in (tidy.check(tool) or "")


def test_what_is_missing_is_named(project):
    assert "run ./nf test" in (tidy.check(str(project / "no-tool")) or "")
    tidy.COMMANDS.unlink()
    assert "run ./nf setup" in (tidy.check(str(project / "tool")) or "")
