# SPDX-License-Identifier: Apache-2.0
"""Reading and writing an element: own, prefetched, remote (004, Fig. 7 and section 6.2.4).

An element of 8 bytes, over the stride, where the network takes no time. Remote elements are in the page
cache. Reads are added to one sum, where each addition waits for the one before and hides much of the
access. They are added to four sums, too (`independent`), where less of it hides. `bare get` reads the same
elements by `get(GlobalPtr)`, and `located get` finds owner and place first. Neither checks whether
something is prefetched. `checked` is through an array that has something else prefetched. The paper finds
up to 2.53 % for its check, and up to 9.41 % for the second write to what is prefetched. All kinds take
turns within a process, and one process is one sample.
"""

from __future__ import annotations

import json
from functools import partial
from statistics import median
from typing import Optional

from bench import harness, pgas
from bench.callgrind import instructions_each
from bench.harness import Options, alternate
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, worst

TITLE = "Reading and writing an element: own, prefetched, remote (004, Fig. 7 and section 6.2.4)"

READS = (
    "local array",
    "own, view",
    "own",
    "remote",
    "remote, checked",
    "bare get",
    "located get",
    "prefetched, ac",
    "prefetched, mc",
    "prefetched, learned",
)
"""Where it is. `learned`: each other element was seen to be read, and is prefetched."""
WRITES = ("write", "write, checked", "write, ac", "write, mc")
"""All remote, `ac` and `mc` to what is prefetched: it is written there, too."""
SUMS = ("", ", independent")
CHECK = 1.0253
KINDS = (*READS, *(f"{kind}, independent" for kind in READS), *WRITES)
SAMPLES = 15
"""Where the memory of a process lies makes 4 % between kinds that execute the same instructions."""


def run(options: Options) -> Report:
    """All kinds, for each stride; the medians of each process are compared."""
    strides = options.choose([1, 2, 4, 8, 16, 32, 64], [1, 64])
    rounds, count = options.choose((7, 300_000), (1, 20_000))
    report = Report({"samples": options.samples(SAMPLES), "rounds": rounds, "count": count})
    calls = {f"stride {stride}": partial(_measure, stride, count, rounds) for stride in strides}
    every = alternate(calls, options.samples(SAMPLES), options, "array_access_cost").values()
    instructions = {kind: _instructions(kind) for kind in KINDS} if not options.quick else {}
    for stride, runs in zip(strides, every):
        times = {kind: [median(run[kind]) for run in runs] for kind in KINDS}
        for kind in KINDS:
            row: Row = {"stride": stride, "kind": kind, **Interval.of(times[kind]).columns("ns")}
            row.update(Interval.of_ratios(times[kind], times[_base(kind)]).columns("over_base"))
            row.update(base=_base(kind), each_ns=times[kind], instructions=instructions.get(kind))
            report.rows.append(row)
    report.columns = "stride kind ns ns_low ns_high base over_base instructions"
    report.pictures = [Lines(report.rows, "ns", "stride", "kind", ["base"], log="xy")]
    _compare(report, instructions)
    return report


def _base(kind: str) -> str:
    """What a kind is compared with: a write, a bare get, or a read of one's own."""
    if kind.startswith("write"):
        return "write"
    end = ", independent" if kind.endswith(", independent") else ""
    return ("bare get" if kind.startswith(("remote", "bare", "located")) else "own") + end


def _compare(report: Report, instructions: dict[str, Optional[float]]) -> None:
    """Adds the claims, each about the worst stride."""
    limits = [(f"prefetched, {way}{end}", f"own{end}", 1.3) for way in ("mc", "ac") for end in SUMS]
    limits += [(f"remote, checked{end}", f"located get{end}", CHECK) for end in SUMS]
    limits += [(f"remote, checked{end}", f"bare get{end}", 2) for end in SUMS]
    limits += [(kind, "write", 1.0941) for kind in WRITES if kind != "write"]
    for kind, base, limit in limits:
        sides = (pgas.find(report.rows, kind=each) for each in (kind, base))
        ratios = [
            (Interval.of_ratios(row["each_ns"], other["each_ns"]), f"stride {row['stride']}")
            for row, other in zip(*sides)
        ]
        measured, stride = worst(Claim.at_most, ratios)
        report.claims.append(Claim.at_most(f"{kind}: time over {base}", limit, measured, "times", stride))
    checked, located = instructions.get("remote, checked"), instructions.get("located get")
    if checked and located:
        text = "remote, checked: instructions over those of a located get"
        detail = f"{checked:.5g} and {located:.5g}, stride 1"
        report.claims.append(Claim.at_most(text, CHECK, checked / located, "times", detail))


def _instructions(kind: str) -> Optional[float]:
    """Of an access with stride 1, the loop's with them; a number that is the same in every run."""
    program = str(harness.own_program("array_access_cost"))
    words = [program, "--rounds", "1", "--only", kind]
    return instructions_each(lambda count: [*words, "--count", str(count)], 100_000, 200_000)


def _measure(stride: int, count: int, rounds: int) -> Row:
    words = [harness.own_program("array_access_cost"), "--stride", stride, "--count", count]
    output = harness.execute([*map(str, words), "--rounds", str(rounds)])
    return next(json.loads(line) for line in output.splitlines() if line.startswith("{"))
