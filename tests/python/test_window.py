# SPDX-License-Identifier: Apache-2.0
"""MPI windows in Python: by importing nearfetch first, and under `nearfetch run`."""

from __future__ import annotations

import sys

import pytest
from ranks import BUILD, FAMILIES, SOURCE, need_family, run

CHECKS = SOURCE / "tests" / "python" / "window_checks.py"


@pytest.mark.parametrize("preloaded", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_windows(family, preloaded):
    need_family(family)
    before = [sys.executable, BUILD / "bin" / "nearfetch", "run", "--"] if preloaded else []
    said = run([CHECKS], family, 2, before=before)
    assert said.count("passed") == 2, said
