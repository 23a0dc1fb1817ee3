# SPDX-License-Identifier: Apache-2.0
"""Runs of the program cache_sequence: a sequence of gets through the cache alone, exact and repeatable."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Iterable, Mapping

from bench.harness import AS_001, K, execute, own_program
from bench.report import Row
from bench.workload import Get, write_sequence

POLICIES: Mapping[str, Mapping[str, object]] = {
    "as-001": AS_001,
    "as-001, temporal": {**AS_001, "policy": "temporal"},
    "as-001, positional": {**AS_001, "policy": "positional"},
    **{name: {"policy": name} for name in ("density", "gdsf", "s3fifo", "lru")},
}
"""Victim selection: the paper's three as the paper has them, then ours; density is the default."""

DEFAULT_POLICY = "density"


def sized(buffer_bytes: str, index_entries: int, names: Iterable[str] = POLICIES) -> dict[str, str]:
    """The configurations of some of the policies, with these sizes."""
    sizes = {"buffer_bytes": buffer_bytes, "index_entries": index_entries}
    return {name: joined({**sizes, **POLICIES[name]}) for name in names}


def joined(settings: Mapping[str, object]) -> str:
    """Settings as the programs' option --config has them."""
    return ",".join(f"{name}={value}" for name, value in settings.items())


def replay(gets: list[Get], configs: Mapping[K, str], occupancy_every: int = 0) -> dict[K, Row]:
    """What cache_sequence says of each configuration, by its key."""
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        words = [str(own_program("cache_sequence")), "--sequence"]
        words += [str(write_sequence(gets, Path(scratch) / "sequence"))]
        words += ["--occupancy-every", str(occupancy_every)]
        # Numbers for names: a key may hold what separates settings.
        for number, settings in enumerate(configs.values()):
            words += ["--config", f"{number}:adaptive=off,{settings}"]
        lines = execute(words).splitlines()
    return {key: json.loads(line) for key, line in zip(configs, lines)}
