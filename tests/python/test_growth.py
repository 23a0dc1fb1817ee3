# SPDX-License-Identifier: Apache-2.0
"""Arrays of any size and with elements of any size (growth_checks.py, dtype_checks.py)."""

from __future__ import annotations

import pytest
from ranks import FAMILIES, SOURCE, need_family, need_native, run

GROWTH, DTYPES = (SOURCE / "tests" / "python" / f"{name}_checks.py" for name in ("growth", "dtype"))


@pytest.mark.parametrize("checks", [GROWTH, DTYPES])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_in_threads(checks, ranks):
    need_native()
    assert run([checks, ranks]) == f"passed {ranks}\n"


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("network", ["shm", "tcp"])
@pytest.mark.parametrize("family", FAMILIES)
def test_memory_of_processes_grows(family, network, ranks):
    need_family(family)
    assert run([GROWTH], family, ranks, network=network).count("passed 1") == ranks


@pytest.mark.parametrize("family", FAMILIES)
def test_elements_of_processes(family):
    need_family(family)
    assert run([DTYPES], family, 3).count("passed 1") == 3
