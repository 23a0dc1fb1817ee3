# SPDX-License-Identifier: Apache-2.0
"""Fig. 10: how full the buffer stays, over the sequence of gets, by victim selection."""

from __future__ import annotations

import statistics
from pathlib import Path

from bench import core, plots
from bench.harness import Options, Report
from bench.workload import paper_sequence

TITLE = "occupied share of the buffer by victim selection (Fig. 10)"


def run(options: Options) -> Report:
    """Exact: no time is measured, and every machine gives the same."""
    length, every = options.choose((100000, 500), (10000, 250))
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": 1500, "seed": 1, "every": every})
    report.parameters["policies"] = core.POLICIES
    gets = paper_sequence(1, length)
    for size in ("1MiB", "4MiB"):
        for name, result in core.replay(gets, core.sized(size, 1500), every).items():
            shares = [share for _, share in result["occupancy"]]
            row = {"buffer_bytes": size, "policy": name, "mean_occupancy": round(statistics.fmean(shares), 4)}
            row.update({"least_occupancy": round(min(shares), 4), "occupancy": result["occupancy"]})
            report.rows.append(row)
    report.columns = ("buffer_bytes", "policy", "mean_occupancy", "least_occupancy")
    return report


def plot(report: Report, path: Path) -> None:
    """One panel per buffer size."""
    sizes = list(dict.fromkeys(row["buffer_bytes"] for row in report.rows))
    figure, axes = plots.panels(len(sizes), width=5)
    for axis, size in zip(axes, sizes):
        for row in report.rows:
            if row["buffer_bytes"] == size:
                axis.plot(*zip(*row["occupancy"]), label=row["policy"], linewidth=1)
        axis.set_title(f"|S_w| = {size}, |I_w| = 1500")
        axis.set_xlabel("number of the get")
        axis.set_ylabel("occupied share of |S_w|")
        axis.set_ylim(0.8, 1.005)
    axes[-1].legend(fontsize=7)
    plots.save(figure, path, TITLE)
