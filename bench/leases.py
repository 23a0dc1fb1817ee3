# SPDX-License-Identifier: Apache-2.0
"""What leases cost: ranks that read and write in turn under locks, at any rate of writes.

Reads of others' records under shared locks, and so many writes a second under exclusive ones, all ranks
together, for a second each: operations with nearfetch over those without. First over TCP, where the sides
take turns; then in virtual time on a modelled network, where the numbers are exact.
"""

from __future__ import annotations

import json
from functools import partial

from bench.harness import PLAIN, Options, Place, Side, alternate, execute, families, own_program
from bench.harness import run as start
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row

TITLE = "Reads and writes in turn under locks, by the rate of writes"

SAMPLES = 7
RATES = (1, 10, 100, 1000, 10_000, 100_000)
RANKS = (2, 8, 32, 128)
NETWORK = "10gbe"
LEAST = 0.97
"""Of plain's operations, that are left in the worst case."""


def run(options: Options) -> Report:
    """Both parts."""
    samples = options.samples(SAMPLES)
    milliseconds = options.choose(1000, 100)
    report = Report({"samples": samples, "milliseconds": milliseconds, "network": NETWORK})
    for family in families():
        for rate in options.choose(RATES, RATES[::3]):
            report.rows.append(_measured(Place(family, 2, "tcp"), rate, samples, milliseconds, options))
    for ranks in options.choose(RANKS, RANKS[:2]):
        for rate in options.choose(RATES, RATES[::3]):
            report.rows.append(_modelled(ranks, rate, 2 * milliseconds))
    for where in sorted({row["where"] for row in report.rows}):
        rows = [row for row in report.rows if row["where"] == where]
        worst = min(rows, key=lambda row: row["ratio"])
        text = f"{where}: operations with leases over plain, at the worst rate of writes"
        detail = f"{worst['ranks']} ranks, {worst['writes_per_second']} writes a second"
        report.claims.append(Claim.at_least(text, LEAST, Interval.in_row(worst, "ratio"), "times", detail))
    report.columns = "where ranks writes_per_second plain_per_second per_second ratio hits looks waits"
    report.pictures = [Lines(report.rows, "ratio", "writes_per_second", "ranks", ["where"], log="xy")]
    return report


def _measured(place: Place, rate: int, samples: int, milliseconds: int, options: Options) -> Row:
    arguments = ["--writes", rate, "--milliseconds", milliseconds]
    sides = {"plain": PLAIN, "leases": Side("acquire", counted=False)}
    calls = {name: partial(start, "lock_turns", arguments, place, side) for name, side in sides.items()}
    results = alternate(calls, samples, options, f"{place}, {rate} writes a second")
    done = {
        name: [sum(line[kind] for kind in ("reads", "writes")) for run in runs for line in run.json_lines()]
        for name, runs in results.items()
    }
    counted = start("lock_turns", arguments, place, Side("acquire"))
    gets = counted.total("gets") - counted.total("own_memory")
    return {
        "where": str(place),
        "ranks": place.ranks,
        "writes_per_second": rate,
        **Interval.of(done["plain"]).times(1000 / milliseconds).columns("plain_per_second"),
        **Interval.of(done["leases"]).times(1000 / milliseconds).columns("per_second"),
        **Interval.of_ratios(done["leases"], done["plain"]).columns("ratio"),
        "hits": round(counted.total("hits") / max(gets, 1), 4),
        "looks": _per_second_and_target(counted.total("lease_looks"), place.ranks, milliseconds),
        "waits": counted.total("lease_waits"),
    }


def _modelled(ranks: int, rate: int, milliseconds: int) -> Row:
    words = ["--ranks", ranks, "--writes", rate, "--milliseconds", milliseconds, "--network", NETWORK]
    output = execute([str(own_program("lock_turns_model")), *map(str, words)])
    plain, leases = (json.loads(line) for line in output.splitlines())
    return {
        "where": "model",
        "ranks": ranks,
        "writes_per_second": rate,
        "plain_per_second": plain["operations"] * 1000 / milliseconds,
        "per_second": leases["operations"] * 1000 / milliseconds,
        **Interval.exactly(leases["operations"] / plain["operations"]).columns("ratio"),
        "hits": round(leases["hits"] / max(leases["gets"], 1), 4),
        "looks": _per_second_and_target(leases["lease_looks"], ranks, milliseconds),
        "waits": leases["lease_waits"],
    }


def _per_second_and_target(looks: int, ranks: int, milliseconds: int) -> float:
    """Of a rank."""
    return round(looks / ranks / (ranks - 1) / milliseconds * 1000, 2)
