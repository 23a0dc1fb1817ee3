# SPDX-License-Identifier: Apache-2.0
"""What nearfetch promises to programs that it cannot help, and to those that it saves work by hand."""

from __future__ import annotations

PROGRAM_RATIO = 0.97
"""Of a whole program: plain time over nearfetch's, at least."""
AS_FAST = 0.97
"""Of what is to be as fast as by hand, on a real clock. In virtual time it has to be 1."""
CALL_NS, CALL_SHARE = 10.0, 0.05
"""Of a call for which nearfetch can do nothing: what it may take more; whichever is more."""
MISS_NS = 400.0
"""What a miss may take more, however full the cache is."""


def allowed_ns(plain_ns: float, calls: int) -> float:
    """What `calls` calls, which take `plain_ns` together without nearfetch, may take more."""
    return max(CALL_NS * calls, CALL_SHARE * plain_ns)
