# SPDX-License-Identifier: Apache-2.0
"""What there is to gain: latency by distance, how often gets are repeated, their sizes (001, Fig. 1 to 3).

Latencies are those of the modelled Cray XC (docs/smpi.md): the paper's are of a real one. Barnes-Hut has
4,000 bodies on 4 ranks, and LCC an R-MAT graph of 2^16 vertices and 2^20 edges on 32 ranks, as in the paper.
The gets of all ranks are counted. A get is repeated when a rank asks for the same bytes again. In a step a
body asks for a node once, and a rank has 1,000 bodies. So 3,500 times, which the paper has, take four steps;
the paper does not say how many it made. The nearest distance in Fig. 1 is a rank's own memory, below 100 ns:
loads take no time in SMPI, so "same node" is the nearest here.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

from bench.harness import Options, execute, program
from bench.plots import Lines
from bench.range_caches import describe
from bench.report import Claim, Report, Row
from nearfetch.mpiexec import SIMULATED, mpiexec, without_nearfetch

TITLE = "Latency by distance, repeated gets and their sizes (001, Fig. 1 to 3)"

NODES = {"same node": 0, "same router": 1, "same chassis": 4, "same group": 64, "another group": 400}
"""The other rank's node, where the first one's is 0."""
STEPS = (1, 4)
"""Of Barnes-Hut."""


def run(options: Options) -> Report:
    """All is exact: latencies are modelled, gets are counted."""
    report = Report({"nodes": NODES}, columns="what distance bytes us steps times ranges share")
    report.rows += [row for distance in NODES for row in _latencies(distance)]
    bodies, ranks = options.choose((4000, 4), (500, 4))
    for steps in STEPS:
        words = f"barnes_hut:bodies={bodies},ranks={ranks},steps={steps}"
        report.rows += _repeated([f"{words},rank={n}" for n in range(ranks)], steps)
    scale, ranks = options.choose((16, 32), (10, 4))
    report.rows += _sizes([f"lcc:scale={scale},edge_factor=16,ranks={ranks},rank={n}" for n in range(ranks)])
    report.claims = _claims(report.rows)
    of = {
        what: [row for row in report.rows if row["what"] == what] for what in ("latency", "repeated", "sizes")
    }
    report.pictures = [
        Lines(of["latency"], "us", "bytes", "distance", [], log="xy"),
        Lines(of["repeated"], "ranges", "times", "steps", [], log="xy"),
        Lines(of["sizes"], "share", "bytes", "what", [], log="x"),
    ]
    return report


def _latencies(distance: str) -> list[Row]:
    launch = mpiexec(SIMULATED, 2, "aries", without_nearfetch(os.environ))
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        hosts = Path(scratch) / "hosts"
        hosts.write_text(f"node-0\nnode-{NODES[distance]}\n", encoding="utf-8")
        words = list(launch.argv)
        words[words.index("-hostfile") + 1] = str(hosts)
        output = execute([*words, str(program(SIMULATED, "get_latency"))], launch.env, timeout_s=60)
    return [
        {"what": "latency", "distance": distance, "bytes": int(size), "us": float(us)}
        for size, us in (line.split() for line in output.splitlines())
    ]


def _repeated(traces: list[str], steps: int) -> list[Row]:
    """How many ranges of bytes are asked for how often."""
    ranges: Counter[int] = Counter()
    for trace in traces:
        ranges.update(describe(trace)[1])
    return [
        {"what": "repeated", "steps": steps, "times": times, "ranges": count}
        for times, count in sorted(ranges.items())
    ]


def _sizes(traces: list[str]) -> list[Row]:
    """The share of gets that are so large or smaller."""
    gets: Counter[int] = Counter()
    for trace in traces:
        gets.update(describe(trace)[0])
    whole, below = gets.total(), 0
    rows = []
    for size, count in sorted(gets.items()):
        below += count
        rows.append({"what": "sizes", "bytes": size, "share": below / whole, "gets": count})
    return rows


def _claims(rows: list[Row]) -> list[Claim]:
    """What the paper says of its figures."""
    once, most = (max(row["times"] for row in rows if row.get("steps") == steps) for steps in STEPS)
    sizes = [row for row in rows if row["what"] == "sizes"]
    within = max(row["share"] for row in sizes if row["bytes"] <= 5 * 1024)
    far = [row["us"] for row in rows if row.get("distance") == "another group" and row["bytes"] == 8]
    mean = sum(row["bytes"] * row["gets"] for row in sizes) / sum(row["gets"] for row in sizes)
    return [
        Claim.at_most("a get of 8 B from another group", 3, far[0], "us"),
        Claim.at_least(
            f"the most often repeated get of {STEPS[-1]} steps of Barnes-Hut",
            *(3500, most, "times", f"in one step {once:,} times"),
        ),
        Claim.at_least("LCC's gets of up to 5 KiB", 82, 100 * within, "%", f"mean {mean:.0f} B"),
    ]
