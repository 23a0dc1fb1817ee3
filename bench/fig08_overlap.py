# SPDX-License-Identifier: Apache-2.0
"""Fig. 8: how much of the communication computation can hide, by size and access type.

overlap = 1 - (T_total - T_computation) / T_communication, where T_communication is the time of a get + flush,
T_computation is as long, and T_total that of get, computation and flush together. Below 0: the flush after
the computation took longer than a get + flush does.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import plots, rma
from bench.harness import CACHED, Options, Place, Report, Row, Spread, alternate, families

TITLE = "communication hidden by computation (Fig. 8)"

CONFIGS = (rma.DEFAULT, "direct", "capacity", "failing")


def run(options: Options) -> Report:
    """Plain and cached processes take turns; rows exist where the settings brought the access type about."""
    sizes = rma.sizes(options)
    rounds = options.rounds_or(5, 2)
    samples, gets = options.choose(60, 20), options.choose(400, 120)
    report = Report({"sizes_bytes": sizes, "rounds": rounds, "samples": samples, "ranks": 2})
    report.parameters["definition"] = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    for place in [Place(family, 2, "tcp") for family in families()]:
        at = partial(rma.measure, place, "create", ["overlap"], sizes, samples, gets)
        sides = {"plain": at, "nearfetch": partial(at, configs=CONFIGS, side=CACHED)}
        results = alternate(sides, rounds, options, str(place))
        for side in sides:
            for key in results[side][0]:
                report.rows += _row(place, key, [result[key] for result in results[side]])
    report.columns = ("network", "config", "size_bytes", "overlap", "overlap_q1", "overlap_q3")
    return report


def _row(place: Place, key: rma.Key, runs: list[Row]) -> list[Row]:
    _, config, size = key
    if config in rma.TYPES and rma.share(runs[-1], config) < 0.9:
        return []
    spread = Spread.of([run["median"] for run in runs])
    return [{"network": str(place), "config": config, "size_bytes": size, **spread.columns("overlap")}]


def plot(report: Report, path: Path) -> None:
    """One panel per MPI library."""
    networks = list(dict.fromkeys(row["network"] for row in report.rows))
    figure, axes = plots.panels(len(networks))
    for axis, network in zip(axes, networks):
        for config in ("plain", *CONFIGS):
            rows = [row for row in report.rows if (row["network"], row["config"]) == (network, config)]
            spreads = [Spread.in_row(row, "overlap") for row in rows]
            colors = {"plain": "black", rma.DEFAULT: "#7b3294"}
            color = colors.get(config) or plots.COLORS[config]
            plots.line(axis, [row["size_bytes"] for row in rows], spreads, config, color=color)
        axis.set_ylim(-0.2, 1)
        axis.set_ylabel("overlap")
        axis.set_title(network)
        plots.size_axis(axis, report.parameters["sizes_bytes"], "size, bytes")
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
