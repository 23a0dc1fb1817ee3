# SPDX-License-Identifier: Apache-2.0
"""nearfetch as it is installed: others find it by CMake and by pkg-config, link it or preload it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import clean_environment, libdir, run, wrapper

from nearfetch import __version__
from nearfetch.mpiexec import mpiexec

CONSUMER = Path(__file__).resolve().parent / "consumer"
RUNTIME = CONSUMER.parents[1] / "capi" / "consumer"
SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable


def families(prefix: Path) -> list[str]:
    """The families that were installed."""
    found = libdir(prefix).glob("libnearfetch_mpi_*.so")
    return sorted(path.stem[len("libnearfetch_mpi_") :] for path in found)


def start(family: str, program: Path, *before: object) -> dict[str, str]:
    """What two ranks of the consumer print, by name."""
    launch = mpiexec(family, 2, environ=clean_environment())
    words = run(*before, *launch.argv, program, env=launch.env).split()
    return dict(zip(words[::2], words[1::2]))


def test_everything_is_installed(prefix):
    names = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert "bin/nearfetch" in names
    assert "include/nearfetch/mpi.h" in names
    assert {f"libexec/nearfetch/nearfetch-{name}" for name in ("settings", "report", "advise")} <= names
    assert "share/nearfetch/python/nearfetch/report.html" in names
    assert any(name.endswith("doc/nearfetch/LICENSE") for name in names)
    assert families(prefix)
    assert not [name for name in names if name.endswith((".a", ".pyc"))]


def test_no_installed_text_names_the_build(prefix):
    source = str(CONSUMER.parents[2])
    files = [path for path in prefix.rglob("*") if path.is_file()]
    texts = [path for path in files if path.suffix and ".so" not in path.suffixes]
    for path in [*texts, prefix / "bin" / "nearfetch"]:
        assert source not in path.read_text(encoding="utf-8"), path


def test_the_interposers_ask_for_little(prefix):
    from nearfetch.elf import read_dynamic

    for family in families(prefix):
        for kind in ("mpi", "record"):
            dynamic = read_dynamic(libdir(prefix) / f"libnearfetch_{kind}_{family}.so")
            libmpi = [name for name in dynamic.needed if name.startswith("libmpi")]
            assert libmpi == (["libmpi.so.40"] if family == "openmpi" else [])
            assert not [name for name in dynamic.needed if name.startswith("libstdc++")]
            assert dynamic.search == ()


def test_the_installed_command_runs_with_the_systems_python(prefix, tmp_path):
    table = json.loads(run(prefix / "bin" / "nearfetch", "settings", "--json", env=clean_environment()))
    assert {"mode", "buffer_bytes", "policy"} <= {row["name"] for row in table}
    isolated = run(
        SYSTEM_PYTHON, "-I", "-S", prefix / "bin" / "nearfetch", "settings", env=clean_environment()
    )
    assert "buffer_bytes" in isolated
    (tmp_path / "nearfetch").symlink_to(prefix / "bin" / "nearfetch")
    assert run(tmp_path / "nearfetch", "--version", env=clean_environment()).startswith("nearfetch ")


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_consumer_by_cmake(prefix, tmp_path, family):
    if family not in families(prefix):
        pytest.skip(f"nearfetch was built without {family}")
    env = clean_environment()
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DFAMILY={family}", f"-DMPI_C_COMPILER={wrapper(family)}"]
    run("cmake", "-S", CONSUMER, "-B", tmp_path, "-G", "Ninja", *options, env=env)
    run("cmake", "--build", tmp_path, env=env)
    check_consumer(prefix, family, tmp_path / "plain", tmp_path / "linked")


@pytest.mark.parametrize("family", ["openmpi", "mpich", "mpiabi"])
def test_consumer_by_pkg_config(prefix, tmp_path, family):
    if family not in families(prefix):
        pytest.skip(f"nearfetch was built without {family}")
    env = {**clean_environment(), "PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    assert run("pkg-config", "--modversion", "nearfetch", env=env).strip() == __version__
    for name, package in (("plain", "nearfetch"), ("linked", f"nearfetch-{family}")):
        flags = run("pkg-config", "--cflags", "--libs", package, env=env).split()
        run(wrapper(family), CONSUMER / "consumer.c", "-o", tmp_path / name, *flags, env=env)
    check_consumer(prefix, family, tmp_path / "plain", tmp_path / "linked")


def check_consumer(prefix: Path, family: str, plain: Path, linked: Path) -> None:
    """The consumer sees the same alone, under `nearfetch run`, and with the interposer linked."""
    alone = start(family, plain)
    assert (alone["seen"], alone["status"], alone["loaded"]) == ("101", "0", "0")
    for printed in (
        start(family, plain, prefix / "bin" / "nearfetch", "run", "--mode", "user-defined", "--"),
        start(family, linked),
    ):
        assert (printed["seen"], printed["status"], printed["loaded"], printed["gets"]) == (
            "101",
            "0",
            "1",
            "2",
        )


def check_runtime(program: Path) -> None:
    """A runtime in C: all its elements arrive, in few messages; what is outside is refused."""
    words = run(program, env=clean_environment()).split()
    seen = dict(zip(words[::2], words[1::2]))
    assert (seen["sum"], seen["outside"], seen["version"]) == ("999000", "4", __version__)
    assert 0 < int(seen["puts"]) < 20


def test_runtime_by_cmake(prefix, tmp_path):
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja"]
    run("cmake", "-S", RUNTIME, "-B", tmp_path, *options, env=clean_environment())
    run("cmake", "--build", tmp_path, env=clean_environment())
    check_runtime(tmp_path / "runtime")


def test_runtime_by_pkg_config(prefix, tmp_path):
    env = {**clean_environment(), "PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "nearfetch-c", env=env).split()
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run("cc", *strict, RUNTIME / "runtime.c", "-o", tmp_path / "runtime", *flags, env=env)
    check_runtime(tmp_path / "runtime")


def test_the_c_library_needs_no_cpp_library(prefix):
    from nearfetch.elf import read_dynamic

    dynamic = read_dynamic(libdir(prefix) / "libnearfetch.so")
    assert not [name for name in dynamic.needed if name.startswith(("libstdc++", "libgcc", "libmpi"))]


def test_the_cpp_library_exports_its_header_alone(prefix):
    names = run("nm", "-D", "-C", "--defined-only", libdir(prefix) / "libnearfetch_pgas.so").splitlines()
    assert any("nearfetch::detail::launch(" in name for name in names)
    assert any("typeinfo for nearfetch::Error" in name for name in names), "exceptions cross the border"
    assert not [name for name in names if "nearfetch::pgas::" in name]


def test_another_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES NONE)\n"
        "find_package(nearfetch ${WANTED} REQUIRED)\n"
    )
    for wanted, accepted in (("0.1", True), ("0.1.0", True), ("0.2", False), ("1.0", False)):
        words = ["cmake", "-S", tmp_path, "-B", tmp_path / wanted, f"-DWANTED={wanted}"]
        words.append(f"-DCMAKE_PREFIX_PATH={prefix}")
        status = subprocess.run(list(map(str, words)), capture_output=True, check=False).returncode
        assert (status == 0) == accepted, wanted
