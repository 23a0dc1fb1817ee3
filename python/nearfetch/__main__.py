# SPDX-License-Identifier: Apache-2.0
"""`python -m nearfetch`, from a source tree that has been built."""

from __future__ import annotations

import sys

from nearfetch.cli import main

if __name__ == "__main__":
    sys.exit(main())
