# SPDX-License-Identifier: Apache-2.0
"""numpy, or a clear message if it is missing."""

from __future__ import annotations

from nearfetch.errors import Error

try:
    import numpy as np
except ImportError:
    raise Error(
        "nearfetch's arrays are not here (numpy is missing, whose conventions they have): pip install numpy"
    ) from None

__all__ = ["np"]
