# SPDX-License-Identifier: Apache-2.0
"""The programs that the README shows are built against what is installed, as it says, and run."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import clean_environment, libdir, run

README = Path(__file__).resolve().parents[2] / "README.md"


def program(language: str) -> str:
    """The whole program in that language."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if "int main" in block]
    return found


def built(prefix: Path, folder: Path, compiler: list[str], language: str, package: str) -> Path:
    """The README's program of a language, linked as pkg-config says."""
    env = {**clean_environment(), "PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", package, env=env).split()
    source = folder / f"example.{language}"
    source.write_text(program(language), encoding="utf-8")
    rpath = f"-Wl,-rpath,{libdir(prefix)}"
    run(*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", folder / "example", *flags, rpath, env=env)
    return folder / "example"


def test_the_cpp_example(prefix, tmp_path):
    example = built(prefix, tmp_path, ["c++", "-std=c++20", "-O2"], "cpp", "nearfetch-pgas")
    sum_text, _, messages, _ = run(example, env=clean_environment()).split()
    assert int(sum_text) == 3 * sum(range(1000))
    assert 0 < int(messages) <= 16, "8000 bytes are 125 lines"


def test_the_c_example(prefix, tmp_path):
    example = built(prefix, tmp_path, ["cc", "-std=c11"], "c", "nearfetch-c")
    assert run(example, env=clean_environment()) == "1000 puts in 1 messages\n"
