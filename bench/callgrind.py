# SPDX-License-Identifier: Apache-2.0
"""Instructions of one operation, counted by callgrind: the same in every run."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Callable, Optional, Sequence


def instructions_each(
    words: Callable[[int], Sequence[str]], few: int, many: int, inside: Sequence[str] = ()
) -> Optional[float]:
    """Of each operation of a program, what its loop takes included.

    `words(count)` is the command that does so many of them. `inside` are patterns of functions: then only
    what these call is counted. None where callgrind cannot count: it is not there, or cannot run a program
    that has a sanitizer.
    """
    if shutil.which("valgrind") is None:
        return None
    totals = []
    for count in (few, many):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += [f"--toggle-collect={pattern}" for pattern in inside]
        done = subprocess.run(
            [*command, *words(count)], capture_output=True, text=True, check=False, timeout=300
        )
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or collected is None:
            return None
        totals.append(int(collected[1]))
    return (totals[1] - totals[0]) / (many - few)
