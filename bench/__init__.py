# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of nearfetch: one module per figure of paper 001, named after it (docs/benchmarks.md)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The source tree."""

if str(ROOT / "python") not in sys.path:
    sys.path.insert(0, str(ROOT / "python"))
