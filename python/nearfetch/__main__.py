# SPDX-License-Identifier: Apache-2.0
"""`python -m nearfetch`, from an installed package or a built source tree."""

from __future__ import annotations

import sys

from nearfetch.cli import main

if __name__ == "__main__":
    sys.exit(main())
