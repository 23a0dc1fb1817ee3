# SPDX-License-Identifier: Apache-2.0
"""The figures and tables of the three papers: what the papers have, and which benchmark has the same."""

from __future__ import annotations

from typing import Mapping, Sequence

from bench.figures import paper_000, paper_001, paper_004
from bench.figures.figure import Figure

PAPERS: Mapping[str, Sequence[Figure]] = {
    "000": paper_000.FIGURES,
    "001": paper_001.FIGURES,
    "004": paper_004.FIGURES,
}
