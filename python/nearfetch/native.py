# SPDX-License-Identifier: Apache-2.0
"""The native module `nearfetch._native`, wherever this nearfetch has it."""

from __future__ import annotations

import nearfetch
from nearfetch.errors import Error
from nearfetch.layout import Layout

# In a source tree it lies in the build folder.
_built = Layout.of_this().module
if _built is not None and str(_built) not in nearfetch.__path__:
    nearfetch.__path__.append(str(_built))

try:
    from nearfetch import _native
except ImportError as _problem:
    raise Error(
        f"nearfetch's arrays are not here (its native module cannot be imported: {_problem}): "
        "install nearfetch by `pip install .`, or run ./nf setup in the source tree"
    ) from None

__all__ = ["_native"]
