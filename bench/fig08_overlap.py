# SPDX-License-Identifier: Apache-2.0
"""How much of the communication computation can hide, by size and access type (001, Fig. 8).

Overlap is 1 - (T_total - T_computation) / T_communication. T_communication is the time of a get and its
flush. T_computation is as long, and T_total is that of get, computation and flush. Below 0, the flush
after the computation takes longer than a get and its flush do. Without nearfetch is the upper bound. The
paper finds direct and capacity misses alike, because both copy; a failing miss copies nothing and hides
more. Windows take turns within one process, and one process is one sample.
"""

from __future__ import annotations

from functools import partial

from bench import rma
from bench.harness import CACHED, Options, Place, alternate, families
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, worst

TITLE = "Communication hidden by computation (001, Fig. 8)"

CONFIGS = (rma.DEFAULT, rma.PAST, "direct", "capacity", "failing")
SAMPLES = 9
LESS = 0.1
"""How much less of a miss may be hidden than of a plain get; and of one kind of miss than of another."""


def run(options: Options) -> Report:
    """Rows exist where the settings brought the access type about."""
    sizes = rma.sizes(options)
    batches, gets = options.choose(60, 20), options.choose(400, 120)
    report = Report({"samples": options.samples(SAMPLES), "batches": batches, "gets": gets, "ranks": 2})
    report.parameters["sizes_bytes"] = sizes
    for family in families():
        place = Place(family, 2, "tcp")
        measured = partial(
            rma.measure, place, "create", ["overlap"], sizes, batches, gets, configs=CONFIGS, side=CACHED
        )
        runs = alternate({"overlap": measured}, options.samples(SAMPLES), options, str(place))["overlap"]
        for key, last in runs[-1].items():
            _, config, size = key
            if config in rma.TYPES and rma.share(last, config) < 0.9:
                continue
            row: Row = {"network": str(place), "config": config, "size_bytes": size}
            past = [run["overlap", rma.PAST, size]["median"] for run in runs]
            overlaps = [run[key]["median"] for run in runs]
            row.update(Interval.of(overlaps).columns("overlap"))
            less = [plain - overlap for plain, overlap in zip(past, overlaps)]
            row.update(Interval.of(less).columns("less_than_plain"))
            report.rows.append({**row, "each_overlap": overlaps})
    report.columns = "network config size_bytes overlap overlap_low overlap_high less_than_plain"
    networks = dict.fromkeys(row["network"] for row in report.rows)
    report.claims = [claim for network in networks for claim in _claims(report.rows, network)]
    report.pictures = [Lines(report.rows, "overlap", "size_bytes", "config", ["network"], log="x")]
    return report


def _claims(rows: list[Row], network: str) -> list[Claim]:
    here = {(row["config"], row["size_bytes"]): row for row in rows if row["network"] == network}
    less = [
        (Interval.in_row(row, "less_than_plain"), f"{size} B")
        for (config, size), row in here.items()
        if config == rma.DEFAULT
    ]
    measured, where = worst(Claim.at_most, less)
    text = f"{network}: overlap of a miss on a window as users get it, less than without nearfetch"
    claims = [Claim.at_most(text, LESS, measured, "", f"{where}, the worst of {len(less)}")]
    largest = max(size for _, size in here)
    for one, other in (("failing", "direct"), ("capacity", "direct")):
        if (one, largest) in here and (other, largest) in here:
            sides = (here[each, largest]["each_overlap"] for each in (one, other))
            more = Interval.of([a - b for a, b in zip(*sides)])
            text = f"{network}: overlap of a {one} miss of {largest} B, more than of a {other} one"
            kinds = {"without nearfetch": rma.PAST, one: one, other: other}
            hidden = [f"{kind} {here[config, largest]['overlap']:.3g}" for kind, config in kinds.items()]
            claims.append(Claim.at_least(text, -LESS, more, "", f"overlaps: {', '.join(hidden)}"))
    return claims
