# SPDX-License-Identifier: Apache-2.0
"""How full the buffer stays over the sequence of gets, by victim selection (001, Fig. 10).

The paper's micro-workload goes through the cache alone, without MPI. From the first miss that finds no
room on, the occupied share of the buffer shows how fragmented it is. The paper's full and positional
selections keep it around 90 %, its temporal one loses more. No time is measured: every machine gives the
same numbers.
"""

from __future__ import annotations

import statistics

from bench import range_caches
from bench.harness import Options
from bench.plots import Lines
from bench.report import Claim, Report
from bench.workload import paper_sequence

TITLE = "Occupied share of the buffer, by victim selection (001, Fig. 10)"

OCCUPIED = 0.94
"""Of what is not occupied, a log's gap is the most: it is as large as a long newcomer needs."""


def run(options: Options) -> Report:
    """One sequence through each policy."""
    length, every = options.choose((100000, 500), (10000, 250))
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": 1500, "seed": 1, "every": every})
    report.parameters["policies"] = range_caches.POLICIES
    gets = paper_sequence(1, length)
    for size in ("1MiB", "4MiB"):
        for name, result in range_caches.replay(gets, range_caches.sized(size, 1500), every).items():
            shares = [share for _, share in result["occupancy"]]
            row = {"buffer_bytes": size, "policy": name, "mean_occupancy": round(statistics.fmean(shares), 4)}
            row.update({"least_occupancy": round(min(shares), 4), "occupancy": result["occupancy"]})
            report.rows.append(row)
    report.columns = "buffer_bytes policy mean_occupancy least_occupancy"
    mean = {(row["buffer_bytes"], row["policy"]): row["mean_occupancy"] for row in report.rows}
    for size in ("1MiB", "4MiB"):
        default, paper = mean[size, range_caches.DEFAULT_POLICY], mean[size, "as-001"]
        text = f"mean occupied share with the default policy, |S_w| = {size}"
        report.claims += [
            Claim.at_least(text, OCCUPIED, default),
            Claim.at_least(f"{text}, over that of as-001", 1, default / paper, "times"),
        ]
    points = [
        {**row, "get": get, "occupied": share} for row in report.rows for get, share in row["occupancy"]
    ]
    report.pictures = [Lines(points, "occupied", "get", "policy", ["buffer_bytes"])]
    return report
