# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays in Python: against numpy (array_checks.py), in threads and on MPI; docstrings."""

from __future__ import annotations

import pytest
from ranks import FAMILIES, SOURCE, need_family, need_native, run

CHECKS = SOURCE / "tests" / "python" / "array_checks.py"


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_arrays_of_threads(ranks):
    need_native()
    assert run([CHECKS, ranks]) == f"passed {ranks}\n"


@pytest.mark.parametrize("ranks", [3])
@pytest.mark.parametrize("family", [*FAMILIES, "mpiabi"])
def test_arrays_of_processes(family, ranks):
    need_family(family)
    assert run([CHECKS], family, ranks).count("passed 1") == ranks


@pytest.mark.parametrize("module", ["__init__", "program", "arrays", "prefetching"])
def test_docstrings(module):
    need_native()
    assert run(["-m", "doctest", SOURCE / "python" / "nearfetch" / f"{module}.py"]) == ""
