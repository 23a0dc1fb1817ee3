# SPDX-License-Identifier: Apache-2.0
"""Fig. 7: what a hit, a miss of each access type and a flush cost, by size, network and MPI library."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from typing import Callable, Sequence

from bench import plots, rma
from bench.harness import (
    CACHED,
    INTERPOSED,
    NEVER_SLOWER,
    PLAIN,
    Claim,
    Options,
    Place,
    Report,
    Row,
    Side,
    Spread,
    alternate,
    families,
    twice,
)
from bench.rma import PAST, Rows

TITLE = "cost of hits, misses and flushes by size (Fig. 7)"

PATTERNS = ("hit", "rotating", "miss", "flush")
REFERENCES = ("call", "memcpy", "memcpy_rotating", "call_memcpy", "call_memcpy_rotating")
USERS = (rma.DEFAULT, "transparent")
"""Windows as users get them."""
AGAIN = 2
LONGER = 10
"""How many times as many misses there are then: in shared memory they are over in a millisecond, of which the
median moves by several percents from run to run."""
UNCOUNTED = CACHED._replace(counted=False)

Measure = Callable[..., Rows]
"""Runs of rma_latency at a place, on one kind of window."""


def run(options: Options) -> Report:
    """Reads of one window through nearfetch and past it take turns inside one process.

    So do whole processes with and without it; between these the place of the windows' memory decides more
    than nearfetch does. Nobody asks for counters, but where access types are measured.
    Pairs of users' windows that are below are measured again, in AGAIN times as many rounds, each LONGER.
    """
    sizes = rma.sizes(options)
    samples, gets = options.choose(60, 20), options.choose(2000, 200)
    report = Report({"sizes_bytes": sizes, "rounds": _rounds(options), "samples": samples, "gets": gets})
    report.parameters.update(ranks=2, windows=rma.CONFIGS)
    for place, window in _places(options):
        at = partial(rma.measure, place, window, samples=samples, gets=gets)
        longer = partial(at, gets=LONGER * gets, bytes_per_size=LONGER * rma.BYTES_PER_SIZE)
        report.rows += _measured(place, window, at, longer, sizes, options)
    report.columns = (
        "network",
        "window",
        "pattern",
        "config",
        "size_bytes",
        "plain_ns",
        "interposed_ns",
        "nearfetch_ns",
        "interposed_ratio",
        "ratio",
        "first_ratio",
        "process_ratio",
    )
    report.claims = _claims(report.rows)
    return report


def _places(options: Options) -> list[tuple[Place, str]]:
    kinds = [("shm", "allocate"), ("shm", "create"), ("tcp", "create")]
    return [(Place(family, 2, network), window) for family in families() for network, window in kinds]


def _rounds(options: Options) -> int:
    return options.rounds_or(5, 2)


def _measured(
    place: Place, window: str, at: Measure, longer: Measure, sizes: Sequence[int], options: Options
) -> list[Row]:
    everywhere = partial(at, sizes=sizes)
    sides: dict[str, Callable[[], Rows]] = {
        **_users(everywhere, PATTERNS),
        "hit": partial(_beside_past, everywhere, (*PATTERNS, *REFERENCES), "hit", UNCOUNTED),
        "types": partial(everywhere, ["miss"], configs=[*rma.TYPES, PAST], side=CACHED),
    }
    results = alternate(sides, _rounds(options), options, f"{place} {window}")

    def again(below: list[Row]) -> list[Row]:
        patterns = list(dict.fromkeys(row["pattern"] for row in below))
        # A flush has no size, and is measured beside any.
        there = partial(longer, sizes=sorted({row["size_bytes"] for row in below} - {0}) or sizes[:1])
        anew = alternate(
            _users(there, patterns), AGAIN * _rounds(options), options, f"{place} {window}, again"
        )
        found = {_what(row): row for row in _pairs(place, window, anew, USERS)}
        return [found[_what(row)] for row in below]

    rows = twice(_pairs(place, window, results, USERS), again)
    rows += _pairs(place, window, results, ["hit"]) + _types(place, window, results)
    return rows + _references(place, window, results["hit"])


def _users(at: Measure, patterns: Sequence[str]) -> dict[str, Callable[[], Rows]]:
    """What is compared with plain, and plain."""
    return {
        "plain": partial(_beside_past, at, patterns, rma.DEFAULT),
        "interposed": partial(_beside_past, at, patterns, rma.DEFAULT, INTERPOSED),
        **{config: partial(_beside_past, at, patterns, config, UNCOUNTED) for config in USERS},
    }


def _beside_past(at: Measure, patterns: Sequence[str], config: str, side: Side = PLAIN) -> Rows:
    return at(patterns, configs=[config, PAST], side=side)


def _medians(runs: list[Rows], key: rma.Key) -> list[float]:
    return [run[key]["median"] for run in runs]


def _pairs(place: Place, window: str, results: dict[str, list[Rows]], configs: Sequence[str]) -> list[Row]:
    """For each of the configurations, patterns and sizes: plain against nearfetch.

    And against a library that does nothing but pass the calls on: no preloaded layer can cost less than that
    where it leaves a get to MPI.
    """
    rows = []
    for pattern, config, size in [key for name in configs for key in results[name][0]]:
        if config == PAST or pattern in REFERENCES:
            continue
        row: Row = {"network": str(place), "window": window, "pattern": pattern, "config": config}
        row["size_bytes"] = size
        key, passed, past = (pattern, config, size), (pattern, rma.DEFAULT, size), (pattern, PAST, size)
        sides = {"interposed": (results["interposed"], passed), "nearfetch": (results[config], key)}
        for name, (runs, through) in sides.items():
            row.update(Spread.of(_medians(runs, through)).columns(f"{name}_ns"))
            ratio = Spread.of_ratios(_medians(runs, past), _medians(runs, through))
            row.update(ratio.columns("ratio" if name == "nearfetch" else "interposed_ratio"))
        row["each_ns"] = _medians(results[config], key)
        row.update(Spread.of(_medians(results[config], past)).columns("plain_ns"))
        processes = _medians(results["plain"], passed), _medians(results[config], key)
        row.update(Spread.of_ratios(*processes).columns("process_ratio"))
        rows.append(row)
    return rows


def _types(place: Place, window: str, results: dict[str, list[Rows]]) -> list[Row]:
    """Misses by access type, where the settings did bring this type about."""
    rows = []
    for _, config, size in results["types"][0]:
        key = ("miss", config, size)
        if config == PAST or rma.share(results["types"][-1][key], config) < 0.9:
            continue
        row: Row = {"network": str(place), "window": window, "pattern": config, "config": config}
        row["size_bytes"] = size
        past = _medians(results["types"], ("miss", PAST, size))
        row.update(Spread.of(past).columns("plain_ns"))
        row.update(Spread.of(_medians(results["types"], key)).columns("nearfetch_ns"))
        row.update(Spread.of_ratios(past, _medians(results["types"], key)).columns("ratio"))
        rows.append(row)
    return rows


def _references(place: Place, window: str, results: list[Rows]) -> list[Row]:
    rows = []
    for pattern, config, size in results[0]:
        if pattern in REFERENCES:
            row: Row = {"network": str(place), "window": window, "pattern": pattern, "config": config}
            each_ns = _medians(results, (pattern, config, size))
            rows.append(
                {**row, "size_bytes": size, "each_ns": each_ns, **Spread.of(each_ns).columns("plain_ns")}
            )
    return rows


class Table:
    """The rows, by what they measured."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def chosen(self, pattern: str, config: str) -> list[Row]:
        """The rows of a pattern and a configuration."""
        return [row for row in self.rows if (row["pattern"], row["config"]) == (pattern, config)]

    def hits(
        self, pattern: str, size: int, reference: str, reference_size: int
    ) -> list[tuple[str, list[float], list[float]]]:
        """Place, ns of a get + flush and ns of the reference there, round by round."""
        wanted = [row for row in self.chosen(reference, "reference") if row["size_bytes"] == reference_size]
        references = {_place(row): row["each_ns"] for row in wanted}
        hits = [row for row in self.chosen(pattern, "hit") if row["size_bytes"] == size]
        return [(_place(row), row["each_ns"], references[_place(row)]) for row in hits]

    def pairs(self, configs: Sequence[str], patterns: Sequence[str], network: str = "") -> list[Row]:
        """The rows in which users' settings are compared with plain."""
        return [
            row
            for config in configs
            for pattern in patterns
            for row in self.chosen(pattern, config)
            if row["network"].endswith(network)
        ]


def _place(row: Row) -> str:
    return f"{row['network']} {row['window']}"


def _what(row: Row) -> str:
    return f"{_place(row)}, {row['pattern']} of {row['size_bytes']} B, {row['config']}"


def _claims(rows: list[Row]) -> list[Claim]:
    table = Table(rows)
    small = [
        (median(one - other for one, other in zip(hit, call)), place)
        for place, hit, call in table.hits("hit", 8, "call", 0)
    ]
    missed = table.pairs([rma.DEFAULT], ["miss"], "tcp")
    misses = [(100 * (1 / row["ratio"] - 1), _what(row)) for row in missed]
    between = sorted(100 * (1 / row["process_ratio"] - 1) for row in missed)
    beside = f"between processes: median {median(between):.3g} %, worst {between[-1]:.3g} %"
    return [
        _worst(Claim.at_most, "get+flush on a hit at 8 B, over two empty function calls", 20, "ns", small),
        _copies(table, "get+flush on a hit at 4 KiB, over memcpy", "hit", "memcpy"),
        _copies(
            table, "the same over 64 addresses in turn, over such a memcpy", "rotating", "memcpy_rotating"
        ),
        _worst(Claim.at_most, "a miss on TCP, over plain in one process", 2, "%", misses, beside),
        _never_slower(table.pairs(USERS, PATTERNS)),
    ]


def _copies(table: Table, text: str, pattern: str, reference: str) -> Claim:
    """Hits of 4 KiB over a copy; beside it over a copy inside two calls, a hit without its lookup."""
    over = [
        (Spread.of_ratios(hit, copy).median, place)
        for place, hit, copy in table.hits(pattern, 4096, reference, 4096)
    ]
    ratio, place, hit_ns, copy_ns = max(
        (Spread.of_ratios(hit, copy).median, place, median(hit), median(copy))
        for place, hit, copy in table.hits(pattern, 4096, f"call_{reference}", 4096)
    )
    beside = (
        f"over the same copy inside two calls: {ratio:.4g} times at worst "
        f"({hit_ns:.4g} to {copy_ns:.4g} ns, {place})"
    )
    return _worst(Claim.at_most, text, 1.3, "times", over, beside)


def _never_slower(pairs: list[Row]) -> Claim:
    """Plain over nearfetch; beside it over the library that only passes calls on, and between processes."""
    slow, first = (sum(row[name] < NEVER_SLOWER for row in pairs) for name in ("ratio", "first_ratio"))
    beside = [
        f"{what}: {worst[0]:.4g} times at worst ({worst[1]}), {count} below {NEVER_SLOWER}"
        for what, column in (
            ("a library that only passes the calls on", "interposed_ratio"),
            ("between processes with and without nearfetch", "process_ratio"),
        )
        for worst in [min((row[column], _what(row)) for row in pairs)]
        for count in [sum(row[column] < NEVER_SLOWER for row in pairs)]
    ]
    counts = f"{slow} are below twice, {first} at first"
    text = f"plain time over nearfetch's in one process, worst of {len(pairs)} pairs ({counts})"
    values = [(row["ratio"], _what(row)) for row in pairs]
    return _worst(Claim.at_least, text, NEVER_SLOWER, "times", values, "; ".join(beside))


def _worst(
    make: Callable[..., Claim],
    text: str,
    limit: float,
    unit: str,
    values: list[tuple[float, str]],
    beside: str = "",
) -> Claim:
    """A claim about the worst of the values; the three worst are named, then `beside`."""
    ordered = sorted(values, reverse=make == Claim.at_most)
    named = "; ".join(f"{value:.4g} {unit}: {what}" for value, what in ordered[:3])
    return make(text, limit, ordered[0][0], unit, f"worst: {named}" + (f"; {beside}" if beside else ""))


def plot(report: Report, path: Path) -> None:
    """One panel per network and kind of window."""
    labels = list(dict.fromkeys((row["network"], row["window"]) for row in report.rows))
    figure, axes = plots.panels(len(labels))
    for axis, label in zip(axes, labels):
        here = [row for row in report.rows if (row["network"], row["window"]) == label]
        wanted = [("plain", "miss", rma.DEFAULT, "plain_ns", "black")]
        wanted += [("nearfetch, miss", "miss", rma.DEFAULT, "nearfetch_ns", "#7b3294")]
        wanted += [("hit", "hit", "hit", "nearfetch_ns", plots.COLORS["hits"])]
        wanted += [(name, name, name, "nearfetch_ns", plots.COLORS[name]) for name in rma.TYPES]
        wanted += [("memcpy", "memcpy", "reference", "plain_ns", "#bababa")]
        for name, pattern, config, column, color in wanted:
            rows = [row for row in here if (row["pattern"], row["config"]) == (pattern, config)]
            spreads = [Spread.in_row(row, column) for row in rows]
            plots.line(axis, [row["size_bytes"] for row in rows], spreads, name, color=color)
        axis.set_yscale("log")
        axis.set_ylabel("get + flush, ns")
        axis.set_title(f"{label[0]}, Win_{label[1]}")
        plots.size_axis(axis, report.parameters["sizes_bytes"], "size, bytes")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=8, fontsize=8)
    plots.save(figure, path, TITLE)
