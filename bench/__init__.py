# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of nearfetch: one module for each figure of a paper, named after it (docs/benchmarks.md)."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
"""The source tree."""

if str(ROOT / "python") not in sys.path:
    sys.path.insert(0, str(ROOT / "python"))

NAMES = (
    "modes",
    "nwchem",
    "overhead",
    "locality",
    "fig07_access_cost",
    "fig08_overlap",
    "fig09_adaptive_index",
    "fig10_occupancy",
    "fig11_victim_selection",
    "replay",
    "fig12_barnes_hut",
    "fig13_barnes_hut_accesses",
    "fig14_barnes_hut_scaling",
    "fig15_lcc",
    "fig16_lcc_accesses",
    "fig17_lcc_scaling",
    "paper_ranks",
    "paper_sizes",
    "leases",
    "shared_buffer",
    "node_buffer_cost",
    "node_level",
    "node_scaling",
    "many_ranks",
    "fig01_synthetic",
    "fig02_prefetch",
    "hoisting",
    "hand_over",
    "fig03_applications",
    "parameters",
    "page_cache_cost",
    "lapps07_access_cost",
    "lapps08_initialisation",
    "lapps09_update",
    "lapps10_ratio",
    "lapps10_real",
    "lapps11_programs",
    "lapps11_sobel",
    "lapps12_heat",
    "lapps12_convergence",
    "lapps13_dgemm",
    "lapps14_transpose",
    "lapps15_sparse",
    "lapps16_footprint",
    "arrays_python",
)
"""Modules of this package, in the order of docs/results.md: unmodified programs, the range cache, the page
cache, arrays. Each has TITLE and run(Options) -> Report; its docstring describes it."""


def module(name: str) -> ModuleType:
    """The module of a benchmark."""
    return importlib.import_module(f"bench.{name}")
