# SPDX-License-Identifier: Apache-2.0
"""Runs of the program rma_latency, which times single operations of two ranks."""

from __future__ import annotations

from typing import Mapping, Sequence

from bench.harness import PLAIN, Options, Place, Side, run
from bench.report import Row

DEFAULT = "default"
OFF = "off"
PAST = "past"
TYPES: Mapping[str, Mapping[str, object]] = {
    "direct": {"buffer_bytes": "256MiB", "index_entries": 262144},
    "conflicting": {"buffer_bytes": "256MiB", "index_entries": 64},
    "capacity": {"policy": "lru", "buffer_bytes": "128KiB"},
    "failing": {"buffer_bytes": "4KiB"},
}
"""Settings under which misses are of one access type, at least for the larger sizes. A process has all these
windows at once: together they need less than the memory_bytes of a node with 8 GiB."""

CONFIGS: Mapping[str, Mapping[str, object]] = {
    DEFAULT: {},
    "transparent": {"mode": "transparent"},
    OFF: {"mode": "off"},
    PAST: {"calls": "PMPI"},
    "cached": {"bypass": "off"},
    **{name: {"bypass": "off", "adaptive": "off", **settings} for name, settings in TYPES.items()},
}
"""The windows that are compared: as users get them, in two modes; without a cache; never giving up. And the
window of the configuration before, by calls past what is preloaded: as they are without nearfetch."""

Key = tuple[str, str, int]
"""Pattern, configuration, size in bytes."""
Rows = dict[Key, Row]


def sizes(options: Options) -> list[int]:
    """Sizes of gets in bytes, as the paper's figures have them."""
    return options.choose([8, 64, 256, 1024, 4096, 16384, 65536], [8, 4096, 65536])


def measure(
    place: Place,
    window: str,
    patterns: Sequence[str],
    sizes: Sequence[int],
    samples: int,
    gets: int,
    configs: Sequence[str] = (),
    side: Side = PLAIN,
) -> Rows:
    """One run, on a window for each of `configs`, or on one; their settings are for nearfetch alone.

    Of misses there are `gets` per size, or as many as there is memory for.
    Rows have nearfetch's counters unless the side is not `counted`, or the calls go past it.
    """
    arguments: list[object] = ["--window", window, "--patterns", ",".join(patterns)]
    arguments += ["--sizes", ",".join(map(str, sizes)), "--samples", samples, "--gets", gets]
    for name in configs:
        settings = ",".join(f"{key}={value}" for key, value in CONFIGS[name].items())
        arguments += ["--config", f"{name}:{settings}" if settings else name]
    arguments += ["--counted", int(side.counted)]
    outcome = run("rma_latency", arguments, place, side)
    return {(row["pattern"], row["config"], row["size_bytes"]): row for row in outcome.json_lines()}


def share(row: Row, access_type: str) -> float:
    """The share of the row's gets that were of `access_type`."""
    return row["counters"][access_type] / max(row["counters"]["gets"], 1)
