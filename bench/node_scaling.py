# SPDX-License-Identifier: Apache-2.0
"""What sharing saves where a node has 32 ranks, in a simulator.

LCC on 128 ranks, 32 a node, with an R-MAT graph of 2^20 vertices and edge factor 16, whose generator permutes
its vertices. What the 32 ranks of a node get of others is a trace each. The traces go side by side through
windows with their caches: the rank that has waited least for the network goes next. Gets of the same node are
left out. Private caches have room for all that a rank gets. Shared ones have 8 MiB a rank, and a buffer of
256 MiB for the node. Nothing is read ahead, and nothing is bypassed.

The network's time is that of a model (aries), for each rank by itself: what ranks of a node take from one
another's bandwidth is not in it. The software's time is charged, rounded up from what the benchmarks
`paper_sizes` and `node_buffer_cost` measure.
"""

from __future__ import annotations

import json

from bench.harness import Options, execute, own_program
from bench.plots import Bars
from bench.range_caches import joined
from bench.report import Claim, Report, Row

TITLE = "Ranks of a node share what they have fetched: 128 ranks, 32 a node, in a simulator"

SIDES = {
    "private": {
        "memory_bytes": "256MiB",
        "adaptive": "off",
        "buffer_bytes": "88MiB",
        "index_entries": 131072,
    },
    "shared": {"memory_bytes": "8MiB", "buffer_bytes": "4MiB", "node_buffer_bytes": "256MiB"},
}
FEWER_MESSAGES = 6
FEWER_BYTES = 20
LESS_MEMORY = 5

COPIED_BYTES = 4
"""In a nanosecond."""
KEPT_TWICE_BYTES = 1024
"""A range of at most so many has a copy in the rank's own cache, too (src/rma/get_path.cpp)."""
COSTS_NS = {"hits": 100, "misses": 500, "node_lookups": 100, "node_hits": 50, "node_offers": 200}
"""Beside copies: of each get that hits, and of each other one; then what the node level adds."""


def run(options: Options) -> Report:
    """Both sides have the same traces. All is counted, and exact but for the order of ranks."""
    scale = options.choose(20, 13)
    ranks, node_ranks = options.choose((128, 32), (16, 4))
    words = [str(own_program("node_replay")), "--network", "aries"]
    words += ["--trace", f"lcc:scale={scale},edge_factor=16,ranks={ranks}", "--ranks", str(node_ranks)]
    for name, settings in SIDES.items():
        words += ["--config", f"{name}:read_ahead_bytes=0,{joined(settings)}"]
    report = Report({"scale": scale, "ranks": ranks, "node_ranks": node_ranks, "network": "aries"})
    with options.progress(1, "node_scaling") as bar:
        lines = [json.loads(line) for line in execute(words, timeout_s=1100).splitlines()]
        bar.update()
    report.rows = [_row(line, node_ranks) for line in lines]
    report.columns = "caches gets messages bytes memory_bytes seconds node_lookups node_hits"
    private, shared = report.rows
    for column, least, what in (
        ("messages", FEWER_MESSAGES, "fewer messages"),
        ("bytes", FEWER_BYTES, "fewer bytes"),
        ("memory_bytes", LESS_MEMORY, "less memory"),
    ):
        ratio = private[column] / shared[column]
        report.claims.append(Claim.at_least(f"{what} of a node than private caches", least, ratio, "times"))
    report.pictures = [Bars(report.rows, "bytes", ["caches"], [], log="x")]
    return report


def _row(line: Row, node_ranks: int) -> Row:
    counted = line["counters"]
    hits = counted["hits"] + counted["pending_hits"]
    messages = counted["gets"] - hits
    # What is found is copied to the program, and if it is small into the rank's own cache.
    kept_twice = min(counted["bytes_from_node"], counted["committed"] * KEPT_TWICE_BYTES)
    copied = counted["bytes_requested"] + counted["bytes_from_network"] + kept_twice
    times = {**counted, "hits": hits, "misses": messages}
    software_ns = sum(COSTS_NS[name] * times[name] for name in COSTS_NS) + copied / COPIED_BYTES
    return {
        "caches": line["config"],
        "gets": counted["gets"],
        "messages": messages,
        "bytes": counted["bytes_from_network"] + counted["bytes_read_ahead"],
        "memory_bytes": line["memory_bytes"],
        "seconds": (line["network_ns"] + software_ns / node_ranks) / 1e9,
        "node_lookups": counted["node_lookups"],
        "node_hits": counted["node_hits"],
    }
