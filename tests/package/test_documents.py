# SPDX-License-Identifier: Apache-2.0
"""The programs that the documents show are built against what is installed, as they say, and run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import clean_environment, libdir, run, wrapper

from nearfetch.mpiexec import mpiexec

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs"
SHOWN_IN = {"cpp": "pgas.md", "c": "runtimes.md"}


def document(language: str) -> str:
    """What shows a program in that language."""
    return (DOCUMENTS / SHOWN_IN[language]).read_text(encoding="utf-8")


def program(language: str) -> str:
    """The whole program in that language."""
    blocks = re.findall(rf"```{language}\n(.*?)```", document(language), re.DOTALL)
    (found,) = [block for block in blocks if "int main" in block]
    return found


def built(
    prefix: Path, folder: Path, compiler: list[str], language: str, package: str, text: str = ""
) -> Path:
    """The documents' program of a language, or this one, linked as pkg-config says."""
    text = text or program(language)
    env = {**clean_environment(), "PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", package, env=env).split()
    source = folder / f"example.{language}"
    source.write_text(text, encoding="utf-8")
    run(*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", folder / "example", *flags, env=env)
    return folder / "example"


def test_the_cpp_example(prefix, tmp_path):
    example = built(prefix, tmp_path, ["c++", "-std=c++20", "-O2"], "cpp", "nearfetch-pgas")
    check_sum(run(example, env=clean_environment()))


def check_sum(printed: str) -> None:
    """What rank 3 of 4 prints."""
    sum_text, _, messages, _ = printed.split()
    assert int(sum_text) == 3 * sum(range(1000))
    assert 0 < int(messages) <= 16, "8000 bytes are 125 lines"


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_the_cpp_example_on_mpi(prefix, tmp_path, family):
    """With the changes that the document names."""
    if not (libdir(prefix) / f"libnearfetch_pgas_{family}.so").exists():
        pytest.skip(f"nearfetch was built without {family}")
    changes = {
        "<nearfetch/pgas.hpp>": "<nearfetch/pgas_mpi.hpp>",
        "int main()": "int main(int argc, char** argv)",
        "launch({.ranks = 4}, [] {": "return launch_mpi({}, &argc, &argv, [] {",
    }
    text = program("cpp")
    for before, after in changes.items():
        assert text.count(before) == 1, before
        assert f"`{after}`" in document("cpp"), after
        text = text.replace(before, after)
    compiler = wrapper(family, "mpicxx")
    example = built(prefix, tmp_path, [compiler, "-std=c++20"], "cpp", f"nearfetch-pgas-{family}", text)
    launch = mpiexec(family, 4, environ=clean_environment())
    check_sum(run(*launch.argv, example, env=launch.env))


def test_the_c_example(prefix, tmp_path):
    example = built(prefix, tmp_path, ["cc", "-std=c11"], "c", "nearfetch-c")
    assert run(example, env=clean_environment()) == "1000 puts in 1 messages\n"
