# SPDX-License-Identifier: Apache-2.0
"""The recipes in packaging/: each is read, and built or loaded by its own tool where that is installed.

Spack's and Apptainer's tools cannot be had from Debian or PyPI: those recipes are only read.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import clean_environment, run

import nearfetch

SOURCE = Path(__file__).resolve().parents[2]
PACKAGING = SOURCE / "packaging"
RECIPES = {
    "spack": "spack/packages/nearfetch/package.py",
    "conda": "conda/recipe.yaml",
    "easybuild": f"easybuild/nearfetch-{nearfetch.__version__}-gompi-2023b.eb",
    "apptainer": "apptainer/nearfetch.def",
    "debian": "debian/rules",
}


def text(recipe: str) -> str:
    """A recipe."""
    return (PACKAGING / RECIPES[recipe]).read_text(encoding="utf-8")


def need(*tools: str) -> None:
    """Skips where one of these is not installed."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize("recipe", RECIPES)
def test_options_of_the_recipes_exist(recipe):
    known = "".join(file.read_text(encoding="utf-8") for file in SOURCE.glob("cmake/*.cmake"))
    known += (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    named = set(re.findall(r"NEARFETCH_[A-Z]+(?:_[A-Z]+)*", text(recipe)))
    assert named, "every recipe says what it builds"
    for option in named - {"NEARFETCH_MPICC_"}:
        assert re.sub(r"_(MPICH|OPENMPI|MPIABI)$", "_", option) in known, option


def test_recipes_have_the_version():
    version = nearfetch.__version__
    changelog = (PACKAGING / "debian" / "changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"nearfetch ({version}-")
    assert f'version: "{version}"' in text("conda")
    assert f"version = '{version}'" in text("easybuild")
    assert f'version("{version}", tag="v{version}")' in text("spack")


def test_the_recipe_for_spack_is_a_package():
    (package,) = (node for node in ast.parse(text("spack")).body if isinstance(node, ast.ClassDef))
    assert (package.name, [base.id for base in package.bases]) == ("Nearfetch", ["CMakePackage"])
    calls = [node.value for node in package.body if isinstance(node, ast.Expr)]
    variants = {
        call.args[0].value for call in calls if isinstance(call, ast.Call) and call.func.id == "variant"
    }
    assert {"mpich", "openmpi", "mpiabi", "python"} == variants


def test_the_recipe_for_conda():
    stage0 = pytest.importorskip("rattler_build.stage0", reason="rattler-build is not installed")
    variants = pytest.importorskip("rattler_build.variant_config")
    chosen = variants.VariantConfig.from_yaml("{c_stdlib: [sysroot], c_stdlib_version: ['2.28']}")
    (rendered,) = stage0.Stage0Recipe.from_file(PACKAGING / RECIPES["conda"]).render(chosen)
    recipe = rendered.recipe.to_dict()
    assert (recipe["package"]["name"], recipe["package"]["version"]) == ("nearfetch", nearfetch.__version__)
    assert (SOURCE / recipe["build"]["script"][0].split()[0]).exists()
    assert (SOURCE / recipe["about"]["license_file"][0]).exists()


def test_the_recipe_for_easybuild():
    names = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
    exec(compile(text("easybuild"), RECIPES["easybuild"], "exec"), names)
    toolchain = names["toolchain"]
    assert RECIPES["easybuild"].endswith(f"{toolchain['name']}-{toolchain['version']}.eb")
    config = pytest.importorskip("easybuild.framework.easyconfig.parser", reason="EasyBuild is not installed")
    parsed = config.EasyConfigParser(str(PACKAGING / RECIPES["easybuild"])).get_config_dict()
    assert parsed["version"] == nearfetch.__version__


def test_the_definition_for_apptainer():
    sections = re.findall(r"^%post\n((?:    .*\n|\n)+)", text("apptainer"), re.MULTILINE)
    assert len(sections) == 2
    for section in sections:
        run("bash", "-n", "-c", section)


def test_the_module_file_sets_the_path_alone(prefix):
    lmod = Path("/usr/share/lmod/lmod/libexec/lmod")
    if not lmod.exists():
        pytest.skip("Lmod is not installed")
    env = {**clean_environment(), "MODULEPATH": str(prefix / "share" / "nearfetch" / "modulefiles")}

    def variables(command: str) -> dict[str, str]:
        lines = run("bash", "-c", command, env=env).splitlines()
        return dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))

    before, after = variables("env"), variables(f'eval "$({lmod} bash load nearfetch)"; env')
    changed = {name for name in after if after[name] != before.get(name)}
    of_lmod = re.compile(r"(_?_?LMOD|_ModuleTable|LOADEDMODULES|_LM|_$)")
    assert {name for name in changed if not of_lmod.match(name)} == {"PATH"}
    assert shutil.which("nearfetch", path=after["PATH"]) == str(prefix / "bin" / "nearfetch")


@pytest.fixture(scope="module")
def debian_packages(tmp_path_factory) -> Path:
    """The folder with what `dpkg-buildpackage` makes of the source tree."""
    need("dpkg-buildpackage", "dh", "dh_python3", "help2man", "git", "mpicc.openmpi", "mpicc.mpich")
    folder = tmp_path_factory.mktemp("debian")
    tree = folder / f"nearfetch-{nearfetch.__version__}"
    shutil.copytree(
        SOURCE, tree, ignore=shutil.ignore_patterns("build", ".git", ".venv", "debian", "__pycache__")
    )
    original = folder / f"nearfetch_{nearfetch.__version__}.orig.tar.gz"
    run("tar", "-czf", original, "-C", folder, tree.name)
    shutil.copytree(PACKAGING / "debian", tree / "debian")
    # What is to be seen is the package: the code is compiled quickly, and where ccache is, once. debhelper
    # gives the build another home folder.
    options = f"noopt parallel={os.cpu_count()} reproducible=-fixfilepath,-fixdebugpath"
    env = {**clean_environment(), "DEB_BUILD_OPTIONS": options}
    if shutil.which("ccache"):
        env["CCACHE_DIR"] = run("ccache", "--get-config", "cache_dir").strip()
    done = subprocess.run(
        ["dpkg-buildpackage", "-us", "-uc"],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return folder


def test_the_debian_package_runs(debian_packages, tmp_path):
    for package in debian_packages.glob("*.deb"):
        run("dpkg-deb", "-x", package, tmp_path)
    env = {**clean_environment(), "PATH": f"{tmp_path}/usr/bin:/usr/bin:/bin"}
    assert "mode" in run("nearfetch", "settings", env=env)
    names = {path.name for path in tmp_path.rglob("libnearfetch*")}
    version = nearfetch.__version__
    assert {"libnearfetch_mpi_mpich.so", "libnearfetch_mpi_openmpi.so", f"libnearfetch.so.{version}"} <= names


def test_lintian_finds_nothing(debian_packages):
    need("lintian")
    (changes,) = debian_packages.glob("*.changes")
    options = ["--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs"]
    command = ["lintian", "--allow-root", *options, str(changes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
