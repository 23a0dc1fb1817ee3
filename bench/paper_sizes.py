# SPDX-License-Identifier: Apache-2.0
"""Barnes-Hut and LCC at the sizes of 001, rank by rank in a simulator (001, Fig. 12, 13, 15 and 16).

Barnes-Hut has 20,000 bodies on 16 ranks: all ranks, and the forces on all bodies. LCC has an R-MAT graph of
2^20 vertices and edge factor 16 on 32 ranks: ranks 0, 8 and 31. The generator permutes its vertices.
What a rank gets of others is a trace. The traces go through windows with their caches, one after the other.
Fixed and adaptive do not read ahead, like the paper's own algorithm (as-001). Both are there with read-ahead,
too; then Barnes-Hut promises that its phase is read-only. Nothing is bypassed, as in 001.

The network's time is that of a model (aries), and exact, as all counts are. The software's time is that of
the processor on this machine, measured once. A row's time is the mean of its ranks, network and software
together; its speed-up is over the network's time without a cache. Fig. 11 is at the paper's sizes as it is.
"""

from __future__ import annotations

import statistics
from typing import NamedTuple, Sequence

from bench import apps, range_caches
from bench.harness import Options, Outcome
from bench.plots import Lines, Stacks
from bench.report import Claim, Finding, Interval, Report, Row

TITLE = "Barnes-Hut and LCC at the paper's sizes, in a simulator (001, Fig. 12, 13, 15 and 16)"

EXACT = {name: {"read_ahead_bytes": 0, **settings} for name, settings in apps.STRATEGIES.items()}
READ_AHEAD = {
    f"{name}, read-ahead": {**apps.STRATEGIES[name], "read_only_phases": "on"}
    for name in ("fixed", "adaptive")
}


class Case(NamedTuple):
    """An application in the simulator."""

    name: str
    trace: str
    """Without its rank."""
    ranks: Sequence[int]
    mode: str
    sizes: Sequence[apps.Grid]
    stacked: str
    """The buffer whose access types are shown: that of Fig. 13 or 16."""
    speed_up: tuple[str, str, int, float]
    """What 001 says of a strategy, buffer and index: so many times faster than plain."""


CASES = (
    Case(
        "Barnes-Hut",
        "barnes_hut:bodies=20000,ranks=16",
        range(16),
        "user-defined",
        [
            apps.Grid(["256KiB"], [20000]),
            apps.Grid(["1MiB"], [1000, 4000, 20000]),
            apps.Grid(["4MiB"], [20000]),
        ],
        "1MiB",
        ("adaptive", "1MiB", 20000, 3),
    ),
    Case(
        "LCC",
        "lcc:scale=20,edge_factor=16,ranks=32",
        (0, 8, 31),
        "always-cache",
        [apps.Grid(["64MiB"], [16384, 65536, 262144]), apps.Grid(["128MiB"], [65536, 262144])],
        "64MiB",
        ("fixed", "128MiB", 262144, 5),
    ),
)
QUICK = (
    CASES[0]._replace(
        trace="barnes_hut:bodies=1000,ranks=4", ranks=(0, 3), sizes=[apps.Grid(["1MiB"], [1000, 20000])]
    ),
    CASES[1]._replace(
        trace="lcc:scale=11,edge_factor=16,ranks=4",
        ranks=(0, 2),
        sizes=[apps.Grid(["64MiB"], [65536]), apps.Grid(["128MiB"], [262144])],
    ),
)


def run(options: Options) -> Report:
    """Each trace is made once, for all sizes and strategies."""
    cases = options.choose(CASES, QUICK)
    report = Report({"cases": [_parameters(case) for case in cases], "network": "aries"})
    with options.progress(sum(len(case.ranks) for case in cases), "ranks") as bar:
        for case in cases:
            settings = {
                key: side.settings
                for grid in case.sizes
                for key, side in grid.sides(case.mode, {**EXACT, **READ_AHEAD}).items()
            }
            results: dict[apps.Key, list[Row]] = {key: [] for key in settings}
            for rank in case.ranks:
                of_rank = range_caches.replay_windows(f"{case.trace},rank={rank}", case.mode, settings)
                for key, result in of_rank.items():
                    results[key].append(result)
                bar.update()
            rows = _rows(case, results)
            report.rows += rows
            _claim(report, case, rows)
            stacked = [row for row in rows[1:] if row["buffer_bytes"] == case.stacked]
            report.pictures.append(Stacks(stacked, "index_entries", ["what", "strategy"]))
    report.columns = (
        "what ranks strategy buffer_bytes index_entries seconds network_seconds speed_up network_speed_up "
        "hits conflicting capacity failing resizes"
    )
    times = Lines(report.rows, "seconds", "buffer_bytes", "strategy", ["what", "index_entries"], log="y")
    report.pictures.insert(0, times)
    return report


def _parameters(case: Case) -> Row:
    sizes = [{"buffer_bytes": grid.buffers, "index_entries": grid.entries} for grid in case.sizes]
    return {
        "what": case.name,
        "trace": case.trace,
        "ranks": list(case.ranks),
        "mode": case.mode,
        "sizes": sizes,
    }


def _rows(case: Case, results: dict[apps.Key, list[Row]]) -> list[Row]:
    """The first one is the program without a cache."""

    def row(key: apps.Key, network_ns: list[int], software_ns: list[int]) -> Row:
        total = [network + software for network, software in zip(network_ns, software_ns)]
        return {
            "what": case.name,
            "ranks": len(case.ranks),
            "strategy": key[0],
            "buffer_bytes": key[1],
            "index_entries": key[2] or "",
            "seconds": _mean_seconds(total),
            "network_seconds": _mean_seconds(network_ns),
            "network_ns_of_each": network_ns,
            "speed_up": round(sum(plain_ns) / sum(total), 4),
            "network_speed_up": round(sum(plain_ns) / sum(network_ns), 4),
        }

    plain_ns = [each["plain_network_ns"] for each in next(iter(results.values()))]
    rows = [row(("plain", "", 0), plain_ns, [0] * len(plain_ns))]
    for key, ranks in results.items():
        software_ns = [each["software_ns"][0] for each in ranks]
        rows.append(row(key, [each["network_ns"] for each in ranks], software_ns))
        counted = Outcome("", [each["counters"] for each in ranks])
        rows[-1].update(apps.access_columns(counted))
        rows[-1]["bytes_read_ahead"] = counted.total("bytes_read_ahead")
    return rows


def _mean_seconds(each_ns: list[int]) -> float:
    return round(statistics.fmean(each_ns) / 1e9, 6)


def _claim(report: Report, case: Case, rows: list[Row]) -> None:
    """Adds the claims, and what was measured beside the paper's algorithm.

    Network times and hits are exact; total times have the software's in them.
    """
    by_key = {(row["strategy"], row["buffer_bytes"], row["index_entries"]): row for row in rows}

    def network_ns(row: Row) -> list[int]:
        return [sum(row["network_ns_of_each"])]

    report.claims += apps.as_001_claims(f"{case.name}: network time", rows, network_ns, apps.sizes)
    report.claims += apps.as_001_claims(
        f"{case.name}: total time", rows, lambda row: [row["seconds"]], apps.sizes
    )
    strategy, buffer, entries, times = case.speed_up
    row = by_key[strategy, buffer, entries]
    text = f"{case.name}, {strategy}, |S_w| = {buffer}, |I_w| = {entries}: network time"
    report.claims.append(
        Claim.at_least(f"{text} of plain over ours", times, row["network_speed_up"], "times")
    )
    sides = [Interval.exactly(each["network_seconds"]) for each in (rows[0], row)]
    report.findings.append(
        Finding(f"{text} of a rank", *sides, "s", Interval.exactly(row["network_speed_up"]))
    )
    stacked = [row for row in rows if row["buffer_bytes"] == case.stacked]
    claims = apps.access_claims(stacked) + (apps.reuse_claims(stacked) if case.name == "LCC" else [])
    for claim in claims:
        claim.text = f"{case.name}, |S_w| = {case.stacked}, {claim.text}"
    report.claims += claims
