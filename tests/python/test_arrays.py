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
        "array_api",
        "assigning",
        "changing",
        "constructor",
        "halo",
        "in_place_halo",
        "mapped",
        "misuse",
        "moving",
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


@pytest.mark.parametrize("checks", [checks for checks in CHECKS if "halo" in checks.name])
def test_halos_of_two_ranks(checks):
    need_native()
    assert run([checks, 2]) == "passed 2\n"


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("ranks", [3])
@pytest.mark.parametrize("family", [*FAMILIES, "mpiabi"])
def test_arrays_of_processes(checks, family, ranks):
    need_family(family)
    assert run([checks], family, ranks).count("passed 1") == ranks


_WITHOUT_ANSWERS = """
from nearfetch import BlockArray, Error, barrier, launch, rank

def main():
    a = BlockArray(40, dtype=int)
    barrier()
    if rank() == 0:
        a[21::3] = 5
        with a.put_async([39, 25], 6):
            pass
        for update in (lambda: a.accumulate([3, 30], 1), lambda: a.fetch_add(30, 1)):
            try:
                update()
            except Error as problem:
                assert "nobody answers at rank 1" in str(problem)
            else:
                raise AssertionError("not refused")
        a.accumulate([3], 1)
        print(a.fetch_add(3, 1), a[19::3], a.get_async([39, 25, 21, 3]).result)
    barrier()

launch(main)
"""


def test_where_owners_do_not_answer():
    need_family("openmpi")
    expected = "1 [0 0 6 0 0 0 0] [6 6 5 2]\n"
    assert run(["-c", _WITHOUT_ANSWERS], "openmpi", 2, network="tcp") == expected


@pytest.mark.parametrize(
    "module",
    [
        "__init__",
        "program",
        "arrays",
        "bulk_access",
        "collectives",
        "constructors",
        "cumulative",
        "dense",
        "elements",
        "files",
        "halos",
        "gathering",
        "numpy_functions",
        "numpy_methods",
        "numpy_reductions",
        "prefetching",
        "sorting",
        "sparse",
        "top_level",
    ],
)
def test_docstrings(module):
    need_native()
    assert run(["-m", "doctest", SOURCE / "python" / "nearfetch" / f"{module}.py"]) == ""
