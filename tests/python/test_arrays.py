# SPDX-License-Identifier: Apache-2.0
"""Arrays and matrices in Python: against numpy (..._checks.py), in threads and on MPI; docstrings."""

from __future__ import annotations

import pytest
from ranks import FAMILIES, SOURCE, need_family, need_native, run

CHECKS = [
    SOURCE / "tests" / "python" / f"{name}_checks.py"
    for name in (
        "access",
        "array",
        "changing",
        "constructor",
        "halo",
        "misuse",
        "numpy",
        "numpy_table",
        "sparse",
        "value",
    )
]


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_arrays_of_threads(checks, ranks):
    need_native()
    assert run([checks, ranks]) == f"passed {ranks}\n"


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("ranks", [3])
@pytest.mark.parametrize("family", [*FAMILIES, "mpiabi"])
def test_arrays_of_processes(checks, family, ranks):
    need_family(family)
    assert run([checks], family, ranks).count("passed 1") == ranks


@pytest.mark.parametrize(
    "module",
    [
        "__init__",
        "program",
        "arrays",
        "bulk_access",
        "collectives",
        "constructors",
        "dense",
        "elements",
        "files",
        "gathering",
        "numpy_functions",
        "numpy_methods",
        "prefetching",
        "sparse",
        "top_level",
    ],
)
def test_docstrings(module):
    need_native()
    assert run(["-m", "doctest", SOURCE / "python" / "nearfetch" / f"{module}.py"]) == ""
