# SPDX-License-Identifier: Apache-2.0
"""The native module `nearfetch._native`, installed or built."""

from __future__ import annotations

from pathlib import Path

import nearfetch
from nearfetch.errors import Error
from nearfetch.layout import Layout

# In a source tree it is in the build folder.
_built = Layout.of_this().module
if _built is not None and str(_built) not in nearfetch.__path__:
    nearfetch.__path__.append(str(_built))

try:
    from nearfetch import _native
except ImportError as _problem:
    _others = [found.name for folder in nearfetch.__path__ for found in Path(folder).glob("_native*.so")]
    _why = f"its native module is for another Python: {_others[0]}" if _others else f"{_problem}"
    raise Error(
        f"nearfetch's arrays are not here ({_why}): "
        "install nearfetch by `pip install .`, or run ./nf setup in the source tree"
    ) from None

__all__ = ["_native"]
