# SPDX-License-Identifier: Apache-2.0
"""Range caches of different settings, and what they make of the same gets: runs of the program replay."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from bench.harness import AS_001, K, execute, own_program
from bench.report import Row
from bench.workload import Get, write_sequence

POLICIES: Mapping[str, Mapping[str, object]] = {
    "as-001": AS_001,
    "as-001, temporal": {**AS_001, "policy": "temporal"},
    "as-001, positional": {**AS_001, "policy": "positional"},
    **{name: {"policy": name} for name in ("density", "gdsf", "lru")},
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
    """What the replay says of each configuration, by its key."""
    # Numbers for names: a key may hold what separates settings.
    numbered = {str(number): f"adaptive=off,{settings}" for number, settings in enumerate(configs.values())}
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        trace = f"file:path={write_sequence(gets, Path(scratch) / 'sequence')}"
        lines = _run(trace, numbered, ["--occupancy-every", str(occupancy_every)])
    return dict(zip(configs, lines))


def replay_trace(
    trace: str, configs: Mapping[str, str], buffers: Sequence[str], ideals: Iterable[str], repeats: int
) -> list[dict[str, Any]]:
    """What the replay says of each buffer and configuration, `repeats` times, and of ideal stores."""
    words = ["--network", "aries", "--buffers", ",".join(buffers), "--repeats", str(repeats)]
    for ideal in ideals:
        words += ["--ideal", ideal]
    return _run(trace, {name.replace(", ", "+"): settings for name, settings in configs.items()}, words)


def replay_windows(trace: str, mode: str, settings: Mapping[K, Mapping[str, object]]) -> dict[K, Row]:
    """What the replay says of whole windows of `mode` with these settings, by their keys."""
    numbered = {str(number): joined(each) for number, each in enumerate(settings.values())}
    return dict(zip(settings, _run(trace, numbered, ["--network", "aries", "--window", mode])))


def describe(trace: str) -> tuple[dict[int, int], dict[int, int]]:
    """How many gets of a trace have which size, and how many ranges of bytes are asked for how often."""
    words = [str(own_program("replay")), "--trace", trace, "--describe", "yes"]
    found = json.loads(execute(words, timeout_s=600))
    sizes, uses = (dict(map(tuple, found[name])) for name in ("gets_of_size", "ranges_of_uses"))
    return sizes, uses


def _run(trace: str, configs: Mapping[str, str], more: Sequence[str]) -> list[dict[str, Any]]:
    words = [str(own_program("replay")), "--trace", trace, *more]
    for name, settings in configs.items():
        words += ["--config", f"{name}:{settings}"]
    lines = [json.loads(line) for line in execute(words, timeout_s=1800).splitlines()]
    for line in lines:
        if "config" in line:
            line["config"] = line["config"].replace("+", ", ")
    return lines
