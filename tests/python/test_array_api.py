# SPDX-License-Identifier: Apache-2.0
"""The table of the array API standard in docs/python-numpy.md against the namespace and the standard.

`array_api_checks.py` runs the functions; test_arrays.py starts it.
"""

from __future__ import annotations

import re

import pytest
from ranks import SOURCE, need_native, run

PAGE = (SOURCE / "docs" / "python-numpy.md").read_text()
_ROW = re.compile(r"^\| (?!part)([^|]+) \| ([^|]+) \| ([^|]*) ?\|$", re.MULTILINE)
_OF_THE_STANDARD_ONLY = re.compile(r"ArrayAPI|_flags$|Device$|^__")
"""Names of array_api_strict that are its own."""


def names(cell: str) -> set[str]:
    """The names in a cell of the table."""
    return {name for code in re.findall(r"`([^`]+)`", cell) for name in code.split()}


def table() -> tuple[set[str], set[str]]:
    """What is there and what is not, by the table."""
    rows = _ROW.findall(PAGE.split("## The array API standard")[1])
    assert len(rows) >= 8
    return set().union(*(names(there) for _, there, _ in rows)), set().union(*(names(no) for *_, no in rows))


def in_namespace(candidates: set[str]) -> set[str]:
    """Which of these names the namespace has."""
    program = "import sys; from nearfetch import array_api as a; print(*(set(dir(a)) & set(sys.argv[1:])))"
    return set(run(["-c", program, *sorted(candidates)]).split())


def test_the_table_says_what_is_there():
    need_native()
    there, missing = table()
    assert in_namespace(there | missing) == there and len(there) > 40


def test_the_table_names_all_that_is_missing_of_the_standard():
    need_native()
    strict = pytest.importorskip("array_api_strict")
    standard = {name for name in strict.__all__ if not _OF_THE_STANDARD_ONLY.search(name)}
    missing = standard - in_namespace(standard)
    assert missing == table()[1] and len(standard) > 140
