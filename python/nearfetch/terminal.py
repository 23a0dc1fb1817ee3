# SPDX-License-Identifier: Apache-2.0
"""What a long command shows of how far it is."""

from __future__ import annotations

import sys


def show_step(text: str) -> None:
    """Writes over the last step on a terminal's line; an empty text clears it. Elsewhere it shows nothing."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
