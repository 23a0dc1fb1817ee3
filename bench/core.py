# SPDX-License-Identifier: Apache-2.0
"""Runs of the program core_sequence: the paper's sequence through the cache alone, exact and repeatable."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Iterable, Mapping

from bench.harness import K, Row, core_program, execute
from bench.workload import Get, write_sequence

AS_PAPER = "exact_match=on,weak_admission=on"
POLICIES: Mapping[str, str] = {
    "full (001)": f"policy=clampi,{AS_PAPER}",
    "temporal (001)": f"policy=temporal,{AS_PAPER}",
    "positional (001)": f"policy=positional,{AS_PAPER}",
    "density": "policy=density",
    "gdsf": "policy=gdsf",
    "s3fifo": "policy=s3fifo",
    "lru": "policy=lru",
}
"""Victim selection: the paper's three as the paper has them, then ours; density is the default."""

DEFAULT_POLICY = "density"


def sized(buffer_bytes: str, index_entries: int, names: Iterable[str] = POLICIES) -> dict[str, str]:
    """The configurations of some of the policies, with these sizes."""
    sizes = f"buffer_bytes={buffer_bytes},index_entries={index_entries}"
    return {name: f"{sizes},{POLICIES[name]}" for name in names}


def replay(gets: list[Get], configs: Mapping[K, str], occupancy_every: int = 0) -> dict[K, Row]:
    """What core_sequence says of each configuration, by its key."""
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        words = [str(core_program("core_sequence")), "--sequence"]
        words += [str(write_sequence(gets, Path(scratch) / "sequence"))]
        words += ["--occupancy-every", str(occupancy_every)]
        # Numbers for names: a key may hold what separates settings.
        for number, settings in enumerate(configs.values()):
            words += ["--config", f"{number}:adaptive=off,{settings}"]
        lines = execute(words).splitlines()
    return {key: json.loads(line) for key, line in zip(configs, lines)}
