# SPDX-License-Identifier: Apache-2.0
"""What the build needs: missing headers are named or fetched, and what came later is found."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import clean_environment

SOURCE = Path(__file__).resolve().parents[2]
HEADERS = {"boost": "boost/intrusive/avl_set.hpp", "json": "nlohmann/json.hpp"}
PACKAGES = {"boost": "libboost-dev", "json": "nlohmann-json3-dev"}


def configure(build: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Configures on a system without these headers."""
    hidden = "-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include"
    words = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, hidden, "-DNEARFETCH_TESTS=OFF"]
    return subprocess.run(
        [*map(str, words), "-DNEARFETCH_APPS=OFF", *options],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def archive(folder: Path, name: str) -> Path:
    """An archive with that header, as a mirror may have it."""
    header = folder / name / HEADERS[name]
    header.parent.mkdir(parents=True)
    header.touch()
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        file.add(folder / name, arcname=name)
    return path


def test_a_missing_header_is_named_with_what_brings_it(tmp_path):
    for name, header in HEADERS.items():
        others = [f"-DNEARFETCH_{other.upper()}_INCLUDE_DIR={tmp_path}" for other in HEADERS if other != name]
        done = configure(tmp_path / name, *others)
        assert done.returncode != 0
        text = " ".join(done.stderr.split())
        assert f"{header} is missing" in text
        assert f"install {PACKAGES[name]}" in text
        assert "-DNEARFETCH_FETCH=ON" in text


def test_missing_headers_are_fetched_where_that_is_allowed(tmp_path):
    urls = [f"-DNEARFETCH_{name.upper()}_URL={archive(tmp_path, name)}" for name in HEADERS]
    done = configure(tmp_path / "build", "-DNEARFETCH_FETCH=ON", *urls)
    assert done.returncode == 0, done.stderr
    rules = (tmp_path / "build" / "build.ninja").read_text()
    assert f"-isystem {tmp_path}/build/_deps/nearfetch_boost-src" in rules


def test_a_fortran_compiler_that_came_after_the_demo_is_found(tmp_path):
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    headers = [f"-DNEARFETCH_{name.upper()}_INCLUDE_DIR={tmp_path}" for name in HEADERS]
    done = configure(tmp_path / "build", "-DCMAKE_Fortran_COMPILER=NOTFOUND", *headers)
    assert done.returncode == 0, done.stderr
    cache = (tmp_path / "build" / "CMakeCache.txt").read_text()
    assert re.search("^CMAKE_Fortran_COMPILER:[A-Z]+=/", cache, re.MULTILINE)
