# SPDX-License-Identifier: Apache-2.0
"""Texts of Python literals, such as the headers of .npy files.

CPython 3.11 counts how deep a literal is nested in one variable of all threads (its issue 106905): two that
build literals at once may raise SystemError. Ranks may be threads, so one reads at a time.
"""

from __future__ import annotations

import ast
import threading
from typing import Any

__all__ = ["one_reader", "read_literal"]

one_reader = threading.RLock()
"""Held while numpy reads a header."""


def read_literal(text: str) -> Any:
    """What `text` means, as by ast.literal_eval(): numbers, texts, tuples, lists and dictionaries."""
    with one_reader:
        return ast.literal_eval(text)
