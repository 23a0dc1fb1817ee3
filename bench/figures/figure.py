# SPDX-License-Identifier: Apache-2.0
"""What is said of a figure."""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Figure(NamedTuple):
    """A figure or table of a paper."""

    name: str
    about: str
    paper: str
    """What the paper has."""
    size: str
    """`same`, or what differs and why."""
    benchmark: str = ""
    shown: Sequence[str] = ()
    """Texts of the benchmark's claims, or of its findings: those of which it is the beginning."""
    note: str = ""


DIAGRAM = "a diagram"
