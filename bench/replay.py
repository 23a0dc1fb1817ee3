# SPDX-License-Identifier: Apache-2.0
"""Traces through the range cache alone: every policy in both storages, beside the paper's and ideal stores.

Each trace is the gets of one rank (bench/traces.hpp), with buffers of a part of its distinct bytes, or of
fixed sizes. Hits, free space and the network's time (aries, in the model) are exact. Times of the software
are of lookup, admission, eviction and commit, without and with copies of payloads; all configurations take
turns.
`as-001` is the paper's own algorithm. The ideal stores have the same policies, and no rounding, no
fragmentation and no bound on entries. Belady-size knows all later gets, and is greedy: an upper reference.
"""

from __future__ import annotations

import statistics
from typing import Iterator, NamedTuple, Sequence

from bench import range_caches
from bench.harness import AS_001, Options
from bench.plots import Lines
from bench.report import Claim, Finding, Interval, Report, Row, worst

TITLE = "Traces through the range cache: hits, time and space of every policy and storage"

SAMPLES = 6
INDEX_BOUND_PERCENT = 50
"""Where more of the buffer is free, the index has no slot for more entries."""
AS_001_NAME = "as-001"
DEFAULT = "density, log"
BEST_POSSIBLE = "belady"


class Case(NamedTuple):
    """A trace, and the caches that it goes through."""

    name: str
    trace: str
    buffers: Sequence[str]
    index_entries: int = 131072


TABLE = Case("LCC, 2^19, rank 8 of 32", "lcc:scale=19,ranks=32,rank=8", ["32MiB"])
"""The trace on which the software's time is claimed: 448,022 gets."""

CASES = [
    TABLE,
    *(
        Case(
            f"LCC, 2^{scale}, rank {rank} of 32", f"lcc:scale={scale},ranks=32,rank={rank}", buffers, 1 << 20
        )
        for scale, rank, buffers in (
            (19, 0, ["0.25x"]),
            (19, 8, ["0.0625x", "0.25x", "1x", "2x"]),
            (19, 31, ["0.25x"]),
            (20, 8, ["0.25x"]),
        )
    ),
    Case("Barnes-Hut, 5,000 bodies, 1,024 entries", "barnes_hut:bodies=5000,rank=3", ["4MiB"], 1024),
    *(
        Case(f"Barnes-Hut, {entries:,} entries", "barnes_hut:rank=3", ["4MiB"], entries)
        for entries in (4096, 65536)
    ),
    Case("Barnes-Hut, small buffer", "barnes_hut:rank=12", ["256KiB"], 65536),
    Case("001, section IV-A", "paper:", ["1MiB", "4MiB"], 4096),
    Case("001, section IV-A, 20,000 items", "paper:distinct=20000,gets=200000", ["128MiB"], 65536),
    Case("hash table", "hash_table:", ["0.1x", "0.4x"], 1 << 20),
    Case("tiles of small gets", "tiles:tiles=1024", ["0.25x"], 1 << 20),
    Case("scan with a hot set", "scan:", ["4MiB", "16MiB"], 1 << 18),
    Case("sizes from 8 B to 256 KiB", "mixed:", ["16MiB", "64MiB"], 65536),
]
"""Ranks of LCC see different parts of the graph, and its working set grows with the scale."""
QUICK = [
    Case("LCC, 2^12", "lcc:scale=12,ranks=4,rank=1", ["0.25x"]),
    Case("001, section IV-A", "paper:", ["1MiB"]),
]

IDEALS = ("density", "gdsf", "lru", BEST_POSSIBLE)


def configs(index_entries: int) -> dict[str, str]:
    """Each policy in each storage that it can have, and the paper's own algorithm."""
    sizes = {"index_entries": index_entries, "adaptive": "off"}
    wanted: dict[str, dict[str, object]] = {AS_001_NAME: dict(AS_001)}
    for policy in ("density", "gdsf", "lru", "temporal"):
        for storage in ("log", "best_fit"):
            wanted[f"{policy}, {storage}"] = {"policy": policy, "storage": storage}
    for policy in ("clampi", "positional"):
        wanted[f"{policy}, best_fit"] = {"policy": policy, "storage": "best_fit"}
    return {name: range_caches.joined({**sizes, **settings}) for name, settings in wanted.items()}


def run(options: Options) -> Report:
    """All traces; the claims are about the default policy in a log."""
    cases, samples = options.choose(CASES, QUICK), options.samples(SAMPLES)
    report = Report({"cases": [case._asdict() for case in cases], "samples": samples, "network": "aries"})
    with options.progress(len(cases), "traces") as bar:
        for case in cases:
            report.rows += _rows(case, samples)
            bar.update()
    report.columns = "trace buffer_mib cache hits_percent own_get_ns miss_p99_ns free_percent total_ms"
    _claim(report, cases[0].name)
    shown = [row for row in report.rows if row["cache"] in _SHOWN and row["trace"].startswith("LCC")]
    report.pictures = [
        Lines(shown, y, "buffer_mib", "cache", ["trace"], log="x") for y in ("hits_percent", "total_ms")
    ]
    return report


_SHOWN = (AS_001_NAME, DEFAULT, "lru, log", "ideal density", f"ideal {BEST_POSSIBLE}")


def _rows(case: Case, samples: int) -> Iterator[Row]:
    for result in range_caches.replay_trace(
        case.trace, configs(case.index_entries), case.buffers, IDEALS, samples
    ):
        ideal = "ideal" in result
        gets = result["gets"] if ideal else result["counters"]["gets"]
        hits = result["hits"] if ideal else result["counters"]["hits"]
        row: Row = {
            "trace": case.name,
            "buffer_mib": round(result["buffer_bytes"] / 2**20, 3),
            "cache": f"ideal {result['ideal']}" if ideal else result["config"],
            "gets": gets,
            "hits_percent": round(100 * hits / gets, 3),
            "network_ms": round(result["network_ns"] / 1e6, 3),
        }
        if not ideal:
            own, copying = result["without_copies"], result["with_copies"]
            row["free_percent"] = round(100 * result["free_share"], 3)
            row.update(Interval.of(own["get_ns"]).columns("own_get_ns"))
            row.update(Interval.of(own["miss_median_ns"]).columns("miss_median_ns"))
            row.update(Interval.of(own["miss_p99_ns"]).columns("miss_p99_ns"))
            total = [result["network_ns"] / 1e6 + ns * gets / 1e6 for ns in copying["get_ns"]]
            row.update(Interval.of(total).columns("total_ms"))
        else:
            row.update(dict.fromkeys(("free_percent", "own_get_ns", "miss_p99_ns", "total_ms"), ""))
        yield row


def _claim(report: Report, table: str) -> None:
    """The claims of the default, over all traces, and its row of the table beside the paper's."""
    places = list(dict.fromkeys((row["trace"], row["buffer_mib"]) for row in report.rows))
    by_place = {place: {} for place in places}
    for row in report.rows:
        by_place[row["trace"], row["buffer_mib"]][row["cache"]] = row
    ours = {place: rows[DEFAULT] for place, rows in by_place.items()}
    paper = {place: rows[AS_001_NAME] for place, rows in by_place.items()}

    def where(place: tuple[str, float]) -> str:
        return f"{place[0]}, {place[1]:g} MiB"

    def add(make: object, text: str, limit: float, values: dict, unit: str = "") -> None:
        found, detail = worst(make, [(value, where(place)) for place, value in values.items()])  # type: ignore[arg-type]
        report.claims.append(make(text, limit, found, unit, detail))  # type: ignore[operator]

    first = places[0]
    report.claims.append(
        Claim.at_most(
            "own time of a get on the table's trace", 300, Interval.in_row(ours[first], "own_get_ns"), "ns"
        )
    )
    add(
        Claim.at_most,
        "own time of a miss, 99th percentile",
        400,
        {place: Interval.in_row(row, "miss_p99_ns") for place, row in ours.items()},
        "ns",
    )
    add(
        Claim.at_least,
        "hits, over the paper's own algorithm's",
        1,
        {p: Interval.exactly(_ratio(ours[p]["hits_percent"], paper[p]["hits_percent"])) for p in places},
    )
    # Elsewhere the index is what is full, and an ideal store has none.
    full = [place for place in places if ours[place]["free_percent"] < INDEX_BOUND_PERCENT]
    best = {
        place: max(
            row["hits_percent"]
            for name, row in rows.items()
            if name.startswith("ideal") and BEST_POSSIBLE not in name
        )
        for place, rows in by_place.items()
    }
    add(
        Claim.at_least,
        "hits, over those of the best policy on an ideal store",
        0.99,
        {p: Interval.exactly(_ratio(ours[p]["hits_percent"], best[p])) for p in full},
    )
    add(
        Claim.at_least,
        "the paper's network and software time over ours",
        1,
        {p: Interval.exactly(_ratio(paper[p]["total_ms"], ours[p]["total_ms"])) for p in places},
    )
    add(
        Claim.at_most,
        "space of a full buffer without payload",
        6,
        {p: Interval.exactly(ours[p]["free_percent"]) for p in full},
        "%",
    )
    gained = [_ratio(paper[p]["total_ms"], ours[p]["total_ms"]) for p in places]
    report.findings.append(
        Finding(
            f"network and software time of {len(places)} traces and buffers; without: as-001",
            Interval.exactly(sum(paper[p]["total_ms"] for p in places) / 1e3).short(),
            Interval.exactly(sum(ours[p]["total_ms"] for p in places) / 1e3).short(),
            "s",
            Interval.exactly(statistics.geometric_mean(gained)).short(),
        )
    )


def _ratio(over: float, under: float) -> float:
    return over / under if under else float("inf")
