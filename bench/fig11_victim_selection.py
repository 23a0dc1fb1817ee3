# SPDX-License-Identifier: Apache-2.0
"""Hits, free space and visited entries over the index size, by victim selection (001, Fig. 11).

The paper's micro-workload goes through the cache alone, without MPI: every machine gives the same numbers.
The default policy is compared with the paper's own algorithm (as-001), and with online GDSF on an
unfragmented store. That store has no rounding and no bound on its entries. It is no upper bound: it sees
no later gets.
"""

from __future__ import annotations

import statistics

from bench import range_caches
from bench.harness import Options
from bench.plots import Lines
from bench.report import Claim, Finding, Interval, Report, Row
from bench.workload import paper_sequence, unfragmented_gdsf_hits

TITLE = "Hits, free space and visited entries, by victim selection (001, Fig. 11)"

BUFFERS = {"1MiB": 1 << 20, "4MiB": 4 << 20}
CLAIM_GETS = 20000
CLAIM_ENTRIES = 1500


def run(options: Options) -> Report:
    """Several sequences; the means of their counts."""
    entries = options.choose([1000, 1250, 1500, 2000, 3000, 4000], [1000, 1500, 4000])
    length, seeds = options.choose(100000, 20000), options.choose([1, 2, 3, 4, 5], [1, 2])
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": entries, "seeds": seeds})
    report.parameters.update(
        {"policies": range_caches.POLICIES, "sample_entries": 16, "claims_gets": CLAIM_GETS}
    )
    with options.progress(2 * len(seeds), "sequences") as bar:
        results = []
        for seed in seeds:
            results.append(_replay(paper_sequence(seed, length), entries))
            bar.update()
        report.rows = [_row(key, [result[key] for result in results]) for key in results[0]]
        traces = []
        for seed in seeds:
            traces.append(paper_sequence(seed, CLAIM_GETS))
            bar.update()
    for size in BUFFERS:
        _compare(report, size, traces)
    report.columns = "buffer_bytes policy index_entries hits_percent free_percent visited used"
    report.pictures = [
        Lines(report.rows, y, "index_entries", "policy", ["buffer_bytes"])
        for y in ("visited", "hits_percent", "free_percent")
    ]
    return report


def _replay(gets: list, entries: list[int]) -> dict[tuple[str, str, int], Row]:
    configs = {
        (size, name, count): range_caches.sized(size, count)[name]
        for size in BUFFERS
        for name in range_caches.POLICIES
        for count in entries
    }
    return range_caches.replay(gets, configs)


def _row(key: tuple[str, str, int], results: list[Row]) -> Row:
    size, name, count = key

    def mean(value: object) -> float:
        return round(statistics.fmean(value(result) for result in results), 3)  # type: ignore[operator]

    def per(counters: dict, name: str, others: tuple[str, ...]) -> float:
        return counters[name] / max(sum(counters[other] for other in others), 1)

    visits = ("capacity", "failing")
    return {
        "buffer_bytes": size,
        "policy": name,
        "index_entries": count,
        "hits_percent": mean(lambda result: 100 * result["counters"]["hits"] / result["counters"]["gets"]),
        "free_percent": mean(lambda result: 100 * result["free_share"]),
        "visited": mean(lambda result: per(result["counters"], "evict_visited", visits)),
        "used": mean(lambda result: per(result["counters"], "evict_nonempty", visits)),
        "conflicting_percent": mean(lambda result: 100 * per(result["counters"], "conflicting", ("gets",))),
    }


def _compare(report: Report, size: str, traces: list) -> None:
    """Adds what the default policy, the paper's and unfragmented GDSF make of the same sequences."""
    configs = range_caches.sized(size, CLAIM_ENTRIES, (range_caches.DEFAULT_POLICY, "as-001"))
    results = [range_caches.replay(trace, configs) for trace in traces]
    ours, paper = (
        statistics.fmean(100 * result[name]["counters"]["hits"] / CLAIM_GETS for result in results)
        for name in configs
    )
    gdsf = statistics.fmean(
        100 * unfragmented_gdsf_hits(trace, BUFFERS[size]) / CLAIM_GETS for trace in traces
    )
    text = f"hits of the default policy on {CLAIM_GETS:,} gets, |S_w| = {size}"
    detail = f"mean of {len(traces)} sequences"
    for name, hits in (("as-001", paper), ("online GDSF on an unfragmented store", gdsf)):
        report.claims.append(Claim.at_least(f"{text}, against {name}", round(hits, 3), ours, "%", detail))
    sides = [Interval.exactly(hits).short() for hits in (paper, ours, ours / paper)]
    report.findings.append(Finding(f"{text}; without: as-001", *sides[:2], "%", sides[2]))
