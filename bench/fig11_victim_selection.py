# SPDX-License-Identifier: Apache-2.0
"""Fig. 11: hits, free space and visited entries over the index size, by victim selection.

Also: the default policy against an offline reference.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from bench import core, plots
from bench.harness import Claim, Options, Report, Row
from bench.workload import offline_gdsf_hits, paper_sequence

TITLE = "hits, free space and visited entries by victim selection (Fig. 11)"

BUFFERS = {"1MiB": 1 << 20, "4MiB": 4 << 20}
PUBLISHED_HITS = {"1MiB": 67.4, "4MiB": 85.9}
"""Percent, of the published implementation on 20,000 gets."""
CLAIM_GETS = 20000
CLAIM_ENTRIES = 1500


def run(options: Options) -> Report:
    """Exact: no time is measured, and every machine gives the same."""
    entries = options.choose([1000, 1250, 1500, 2000, 3000, 4000], [1000, 1500, 4000])
    length, seeds = options.choose(100000, 20000), options.choose([1, 2, 3, 4, 5], [1, 2])
    report = Report({"distinct_gets": 1000, "gets": length, "index_entries": entries, "seeds": seeds})
    report.parameters.update({"policies": core.POLICIES, "sample_entries": 16, "claims_gets": CLAIM_GETS})
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
    report.claims = [claim for size in BUFFERS for claim in _claims(size, traces)]
    report.columns = (
        "buffer_bytes",
        "policy",
        "index_entries",
        "hits_percent",
        "free_percent",
        "visited",
        "used",
    )
    return report


def _replay(gets: list, entries: list[int]) -> dict[tuple[str, str, int], Row]:
    configs = {
        (size, name, count): core.sized(size, count)[name]
        for size in BUFFERS
        for name in core.POLICIES
        for count in entries
    }
    return core.replay(gets, configs)


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


def _claims(size: str, traces: list) -> list[Claim]:
    """The default policy against the offline reference on the same sequences, and against the published."""
    configs = core.sized(size, CLAIM_ENTRIES, (core.DEFAULT_POLICY, "full (001)"))
    results = [core.replay(trace, configs) for trace in traces]
    hits = {
        name: statistics.fmean(100 * result[name]["counters"]["hits"] / CLAIM_GETS for result in results)
        for name in configs
    }
    gdsf = statistics.fmean(100 * offline_gdsf_hits(trace, BUFFERS[size]) / CLAIM_GETS for trace in traces)
    text = f"hits of the default policy on {CLAIM_GETS} gets, |S_w| = {size}, against"
    detail = (
        f"mean of {len(traces)} sequences; the paper's policy, as rebuilt here: {hits['full (001)']:.1f} %"
    )
    best = hits[core.DEFAULT_POLICY]
    return [
        Claim.at_least(f"{text} offline GDSF", round(gdsf, 3), best, "%", detail),
        Claim.at_least(f"{text} the published CLaMPI", PUBLISHED_HITS[size], best, "%", detail),
    ]


def plot(report: Report, path: Path) -> None:
    """Visited entries, hits and free space, one row of panels per buffer size."""
    figure, axes = plots.panels(3 * len(BUFFERS))
    measures = [("visited", "visited slots per capacity or failing get"), ("hits_percent", "hits, %")]
    measures += [("free_percent", "free share of |S_w|, %")]
    for line, size in enumerate(BUFFERS):
        for axis, (column, label) in zip(axes[3 * line :], measures):
            for name in core.POLICIES:
                rows = [row for row in report.rows if (row["buffer_bytes"], row["policy"]) == (size, name)]
                xs = [row["index_entries"] for row in rows]
                axis.plot(xs, [row[column] for row in rows], marker="o", markersize=3, label=name)
            axis.set_title(f"|S_w| = {size}")
            axis.set_xlabel("|I_w|, entries")
            axis.set_ylabel(label)
            if column == "visited":
                axis.set_yscale("log")
    axes[0].legend(fontsize=7)
    plots.save(figure, path, TITLE)
