# SPDX-License-Identifier: Apache-2.0
"""The programs of the pages on Python print what stands below them: in one process, and under mpiexec.

Those of the tutorial write what its script of numpy does.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from ranks import FAMILIES, SOURCE, need_family, need_native, run

NAMES = ("python", "python-files", "python-numpy", "python-access", "python-elements", "python-programs")
PAGES = "".join((SOURCE / "docs" / f"{name}.md").read_text() for name in NAMES)
TUTORIAL = (SOURCE / "docs" / "python-tutorial.md").read_text()
_BLOCK = re.compile(
    r"^```python( mpi| script)?\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


# What docs/python-programs.md says about windows of two communicators on Open MPI 4.1.
_ONE_NAME_EACH = "import os; os.environ['OMPI_MCA_osc_rdma_priority'] = '90'\n"


def program(mpi: bool) -> str:
    """The tutorial's programs of one kind, one after the other."""
    return "\n".join(code for kind, code, _ in _BLOCK.findall(PAGES) if kind == (" mpi" if mpi else ""))


def printed(mpi: bool) -> str:
    """What they print, rank 0 alone."""
    return "".join(text for kind, _, text in _BLOCK.findall(PAGES) if kind == (" mpi" if mpi else ""))


def test_the_tutorial_has_programs():
    assert len(_BLOCK.findall(PAGES)) == PAGES.count("```python") >= 8


def test_the_first_program_is_whole(tmp_path):
    need_native()
    _, code, text = _BLOCK.findall(PAGES)[0]
    (tmp_path / "first.py").write_text(code)
    assert run([tmp_path / "first.py"]) == text == "(501, 501) 1998.0\n"


def test_in_one_process(tmp_path):
    need_native()
    (tmp_path / "tutorial.py").write_text(program(False))
    assert run([tmp_path / "tutorial.py"]) == printed(False)


@pytest.mark.parametrize("family", FAMILIES)
def test_under_mpiexec(tmp_path, family):
    need_family(family)
    (tmp_path / "tutorial.py").write_text(program(False))
    assert run([tmp_path / "tutorial.py"], family, 4) == printed(False)


@pytest.mark.parametrize(("family", "ranks"), [(None, 1), *((family, 4) for family in FAMILIES)])
def test_scripts(tmp_path, family, ranks):
    if family:
        need_family(family)
    need_native()
    scripts = [(code, text) for kind, code, text in _BLOCK.findall(PAGES) if kind == " script"]
    assert scripts
    for code, text in scripts:
        (tmp_path / "script.py").write_text(code)
        assert run([tmp_path / "script.py"], family, ranks) == text


@pytest.mark.parametrize("family", FAMILIES)
def test_windows(tmp_path, family):
    need_family(family)
    (tmp_path / "tutorial.py").write_text(_ONE_NAME_EACH + program(True))
    assert run([tmp_path / "tutorial.py"], family, 4) == printed(True)


def steps() -> list[str]:
    """The programs of the tutorial, its script first."""
    return [code for _, code, _ in _BLOCK.findall(TUTORIAL)]


@pytest.fixture(scope="module")
def of_numpy(tmp_path_factory):
    """What the script prints, and the array in the file that it writes."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "plate.py").write_text(steps()[0])
    printed = run(["plate.py"], before=["env", "-C", folder])
    return printed, np.load(folder / "plate.npy")


def test_the_tutorial_has_five_steps(of_numpy):
    assert len(steps()) == TUTORIAL.count("```python") == 6
    assert TUTORIAL.count("\n## Step ") == 5
    assert "nearfetch" not in steps()[0]
    assert _BLOCK.findall(TUTORIAL)[0][2] == of_numpy[0]


@pytest.mark.parametrize("step", range(1, 6))
@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_a_step_does_what_the_script_does(of_numpy, tmp_path, step, family):
    need_family(family) if family else need_native()
    (tmp_path / "plate.py").write_text(steps()[step])
    words = ["env", "-C", tmp_path]
    printed = run(["plate.py"], family, 4, before=words)
    assert printed == of_numpy[0]
    assert np.array_equal(np.load(tmp_path / "plate.npy"), of_numpy[1])
