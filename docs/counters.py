#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/counters.md from the table of counters (as nearfetch-report has it), or compares the two."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent / "counters.md"

HEAD = """\
# Counters

Each window of each rank has these counters in `rank-<N>.json` (`nearfetch run --stats DIR`).
`nearfetch_win_stats` reads one while the program runs. This page is made from the table in
`src/cache/counters/range_cache_counters.hpp`, by `python3 docs/counters.py`. A test compares the two.

| counter | counts |
|---|---|
"""


def document(program: Path) -> str:
    """The text of the page."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    return HEAD + "".join(f"| `{row['name']}` | {row['meaning']} |\n" for row in json.loads(done.stdout))


def main() -> int:
    """Writes or compares."""
    build = DOCUMENT.parents[1] / "build" / "release"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--program", type=Path, default=build / "bin" / "nearfetch-report")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    text = document(options.program)
    if not options.check:
        DOCUMENT.write_text(text, encoding="utf-8")
        return 0
    if DOCUMENT.read_text(encoding="utf-8") == text:
        return 0
    print("docs/counters.md is old (the table of counters has changed): run python3 docs/counters.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
