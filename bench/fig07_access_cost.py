# SPDX-License-Identifier: Apache-2.0
"""What a get and its flush cost, by size, network and MPI library (001, Fig. 7).

Gets go through nearfetch and past it, batch by batch, on one window in one process. One process is one
sample. A hit is compared with two empty calls, and with a copy of as many bytes. Misses on a window as
users get it are bypassed after some hundred gets, because a window without hits is not worth a cache. So
misses that are cached are measured beside them, on windows that never give up; counters confirm their
access type. The paper draws a line at 25 % of the network's latency. A call for which nearfetch can do
nothing may take 10 ns more, or 5 %.
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Mapping, Sequence

from bench import rma
from bench.harness import CACHED, INTERPOSED, Options, Place, Side, alternate, families
from bench.plots import Lines
from bench.promises import MISS_NS, allowed_ns
from bench.report import Claim, Interval, Report, Row, beside_plain, worst
from bench.rma import PAST, Rows

TITLE = "Cost of hits, misses and flushes by size (001, Fig. 7)"

PATTERNS = ("hit", "rotating", "miss", "flush")
REFERENCES = ("call", "memcpy", "memcpy_rotating")
USERS = (rma.DEFAULT, "transparent")
"""Windows as users get them."""
UNCOUNTED = CACHED._replace(counted=False)
SAMPLES = 9
SMALL_BYTES = 4096
"""Misses of more are mostly a copy."""

Runs = Mapping[str, list[Rows]]


def run(options: Options) -> Report:
    """Nobody asks for counters, but where access types are measured."""
    sizes = rma.sizes(options)
    batches, gets = options.choose(60, 20), options.choose(2000, 200)
    report = Report({"samples": options.samples(SAMPLES), "batches": batches, "gets": gets, "ranks": 2})
    report.parameters.update(sizes_bytes=sizes, windows=rma.CONFIGS)
    for family in families():
        for network, window in (("shm", "allocate"), ("shm", "create"), ("tcp", "create")):
            place = Place(family, 2, network)
            at = partial(rma.measure, place, window, sizes=sizes, samples=batches, gets=gets)
            results = alternate(_sides(at), options.samples(SAMPLES), options, f"{place} {window}")
            report.rows += _rows({"network": str(place), "window": window}, results)
    report.columns = (
        "network window pattern config size_bytes plain_ns nearfetch_ns of_allowed ratio interposed_ratio"
    )
    report.claims = _claims(report.rows)
    shown = [row for row in report.rows if row["pattern"] == "miss" and row["config"] != "transparent"]
    report.pictures = [
        Lines(shown, "nearfetch_ns", "size_bytes", "config", ["network", "window"], log="xy"),
        Lines(
            _chosen(report.rows, "hit", "cached"),
            "nearfetch_ns",
            "size_bytes",
            "network",
            ["window"],
            log="x",
        ),
    ]
    for row in _chosen(report.rows, "hit", "cached"):
        if row["size_bytes"] in (8, 4096):
            report.findings.append(beside_plain(_what(row), row))
    return report


def _sides(at: Callable[..., Rows]) -> dict[str, Callable[[], Rows]]:
    """Each is a process, and each window in it is read by calls past nearfetch, too."""

    def beside_past(
        config: str, patterns: Sequence[str] = PATTERNS, side: Side = UNCOUNTED
    ) -> Callable[[], Rows]:
        return partial(at, patterns, configs=[config, PAST], side=side)

    return {
        **{config: beside_past(config) for config in USERS},
        "cached": beside_past("cached", (*PATTERNS, *REFERENCES)),
        "interposed": beside_past(rma.DEFAULT, side=INTERPOSED),
        "types": partial(at, ["miss"], configs=[*rma.TYPES, PAST], side=CACHED),
    }


def _rows(where: Row, results: Runs) -> list[Row]:
    """Plain against nearfetch; misses by type where the settings did bring it about; and the references."""
    rows = []
    passed = {key: _ratio(results["interposed"], key) for key in results["interposed"][0]}
    for side in (*USERS, "cached", "types"):
        for key, last in results[side][-1].items():
            pattern, config, size = key
            row: Row = {**where, "pattern": pattern, "config": config, "size_bytes": size}
            each_ns = [run[key]["median"] for run in results[side]]
            if pattern in REFERENCES:
                rows.append({**row, "each_ns": each_ns, **Interval.of(each_ns).columns("plain_ns")})
            elif config != PAST and (side != "types" or rma.share(last, config) >= 0.9):
                row.update(_compared(results[side], key, 1 if pattern == "flush" else 2))
                if side in USERS:
                    row.update(passed[pattern, rma.DEFAULT, size].columns("interposed_ratio"))
                rows.append({**row, "each_ns": each_ns})
    return rows


def _compared(runs: list[Rows], key: rma.Key, calls: int) -> Row:
    """Columns of a window through nearfetch and past it."""
    pairs = [(run[key]["median"], run[key[0], PAST, key[2]]["median"]) for run in runs]
    added = [through - past for through, past in pairs]
    shares = [more / allowed_ns(past, calls) for more, (_, past) in zip(added, pairs)]
    return {
        **Interval.of([past for _, past in pairs]).columns("plain_ns"),
        **Interval.of([through for through, _ in pairs]).columns("nearfetch_ns"),
        **Interval.of(added).columns("added_ns"),
        **Interval.of(shares).columns("of_allowed"),
        **Interval.of_ratios(added, [past for _, past in pairs]).columns("added_share"),
        **_ratio(runs, key).columns("ratio"),
    }


def _ratio(runs: list[Rows], key: rma.Key) -> Interval:
    past = [run[key[0], PAST, key[2]]["median"] for run in runs if (key[0], PAST, key[2]) in run]
    return Interval.of_ratios(past or [0], [run[key]["median"] for run in runs])


def _chosen(rows: Sequence[Row], pattern: str, config: str, network: str = "") -> list[Row]:
    return [
        row
        for row in rows
        if (row["pattern"], row["config"]) == (pattern, config) and row["network"].endswith(network)
    ]


def _what(row: Row) -> str:
    place = f"{row['network']} {row['window']}"
    return f"{row['pattern']} of {row['size_bytes']} B on {row['config']}, {place}"


def _claims(rows: list[Row]) -> list[Claim]:
    users = [row for config in USERS for pattern in PATTERNS for row in _chosen(rows, pattern, config)]
    missed = _chosen(rows, "miss", rma.DEFAULT, "tcp")
    cached = _chosen(rows, "miss", "direct", "tcp")
    small = [row for row in cached if row["size_bytes"] <= SMALL_BYTES]
    over_calls = _beside(rows, "hit", 8, "call", 0, lambda hit, call: hit - call)
    copies, rotating = (
        _beside(rows, pattern, 4096, copy, 4096, lambda hit, copied: hit / copied)
        for pattern, copy in (("hit", "memcpy"), ("rotating", "memcpy_rotating"))
    )
    allowed = "time added, over the 10 ns or 5 % that may be"
    return [
        _worst("get and flush on a hit of 8 B, over two empty calls", 20, over_calls, "ns"),
        _worst("get and flush on a hit of 4 KiB, over memcpy", 1.3, copies, "times"),
        _worst("the same of 64 addresses in turn, over such a memcpy", 1.3, rotating, "times"),
        _worst(f"calls on a window as users get it: {allowed}", 1, _of(users), "times"),
        _worst(
            f"a miss over TCP on such a window, which is soon bypassed: {allowed}", 1, _of(missed), "times"
        ),
        _worst(
            "a miss over TCP that is cached, up to 4 KiB: time added", MISS_NS, _of(small, "added_ns"), "ns"
        ),
        _worst(
            "a miss over TCP that is cached: time added, over plain",
            0.25,
            _of(cached, "added_share"),
            "times",
        ),
    ]


def _of(rows: Sequence[Row], column: str = "of_allowed") -> list[tuple[Interval, str]]:
    return [(Interval.in_row(row, column), _what(row)) for row in rows]


def _beside(
    rows: Sequence[Row],
    pattern: str,
    size: int,
    reference: str,
    reference_size: int,
    compare: Callable[[float, float], float],
) -> list[tuple[Interval, str]]:
    """Hits and the reference at each place, sample by sample."""
    others = {
        (row["network"], row["window"]): row["each_ns"]
        for row in _chosen(rows, reference, "reference")
        if row["size_bytes"] == reference_size
    }
    return [
        (Interval.of(list(map(compare, row["each_ns"], others[row["network"], row["window"]]))), _what(row))
        for row in _chosen(rows, pattern, "cached")
        if row["size_bytes"] == size
    ]


def _worst(text: str, limit: float, values: list[tuple[Interval, str]], unit: str) -> Claim:
    measured, what = worst(Claim.at_most, values)
    return Claim.at_most(f"{text} (the worst of {len(values)})", limit, measured, unit, what)
