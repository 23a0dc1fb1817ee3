# SPDX-License-Identifier: Apache-2.0
"""Reading and writing an element: own, prefetched, remote (004, Table 4, Fig. 7 and section 6.2.4).

An element of 8 bytes, over the stride. Parts of arrays are 64 KiB large, or 128 MiB, which no CPU cache
holds. Each kind goes on where the one before has ended. Remote elements of the large array are missed in the
page cache, as in the paper, and come over a modelled network on the wall's clock. The small array has no
network: its pages are in the page cache.

The paper's ten types are all there. What it calls serialized is a prefetched slice, as it has travelled. What
it calls deserialized is a replica, where each element stands at its index. `address` and `access` are timed
apart, in batches: finding the element, and reading it. A loop does both. Its additions wait for each other
and hide much of an access. They are added to four sums, too (`independent`), where less of it hides.

`bare get` reads the same elements by `get(GlobalPtr)`, and `located get` finds owner and place first. Neither
checks whether something is prefetched. `checked` is through an array that has something else prefetched. The
paper finds up to 2.53 % for its check, and up to 9.41 % for the second write to what is prefetched. All kinds
take turns within a process, and one process is one sample.
"""

from __future__ import annotations

import json
from functools import partial
from statistics import median
from typing import NamedTuple, Optional

from bench import harness
from bench.callgrind import instructions_each
from bench.harness import Options, alternate
from bench.plots import Lines
from bench.report import Claim, Interval, Report, Row, worst

TITLE = "Reading and writing an element: own, prefetched, remote (004, Table 4, Fig. 7 and section 6.2.4)"

TYPES = {
    "local array": 1,
    "own, view": 2,
    "own": 3,
    "remote": 4,
    "prefetched, ac": 5,
    "prefetched, mc": 6,
    "prefetched, mc, in place": 7,
    "replica, ac": 8,
    "replica, mc": 9,
    "replica, mc, in place": 10,
}
"""The paper's numbers: its text has 1 to 4, and its Table 4 the others."""
PREFETCHED = tuple(kind for kind, number in TYPES.items() if number > 4)
READS = (*TYPES, "remote, checked", "bare get", "located get", "prefetched, learned")
"""Where it is. `learned`: each other element was seen to be read, and is prefetched."""
WRITES = ("write", "write, checked", "write, ac", "write, mc")
"""All remote, `ac` and `mc` to what is prefetched: it is written there, too."""
SUMS = ("", ", independent")
APART = (": address", ": access")
CHECK = 1.0253
KINDS = (*READS, *(f"{kind}, independent" for kind in READS), *WRITES)
PARTS = tuple(f"{kind}{part}" for kind in TYPES for part in APART)
SAMPLES = 15
"""Where the memory of a process lies makes 4 % between kinds that execute the same instructions."""
FAR_BELOW = 0.1


class Setting(NamedTuple):
    """The size of a rank's part, and the network; "": none."""

    elements: int
    network: str

    def __str__(self) -> str:
        size = f"{self.elements // 2**17} MiB" if self.network else f"{self.elements // 2**7} KiB"
        return f"{size}, {self.network or 'no network'}"


SMALL = Setting(2**13, "")


def run(options: Options) -> Report:
    """All kinds, for each stride and setting; the medians of each process are compared."""
    strides = options.choose([1, 2, 4, 8, 16, 32, 64, 512, 4096], [1, 64])
    counts = options.choose((3, 300_000, 20_000), (1, 20_000, 2_000))
    large = [Setting(2**24, network) for network in options.choose(("fdr-ib", "aries"), ("fdr-ib",))]
    settings = [SMALL, *large] if not options.quick else [SMALL, Setting(2**20, "fdr-ib")]
    report = Report(dict(zip(("rounds", "count", "remote_count"), counts), samples=options.samples(SAMPLES)))
    places = [(setting, stride) for setting in settings for stride in strides]
    calls = {
        f"{setting}, stride {stride}": partial(_measure, setting, stride, counts)
        for setting, stride in places
    }
    every = alternate(calls, options.samples(SAMPLES), options, "array_access_cost").values()
    instructions = {kind: _instructions(kind) for kind in KINDS} if not options.quick else {}
    for (setting, stride), runs in zip(places, every):
        times = {kind: [median(run[kind]) for run in runs] for kind in (*KINDS, *PARTS) if kind in runs[0]}
        for kind in times:
            row: Row = {"setting": str(setting), "network": setting.network, "stride": stride, "kind": kind}
            row.update(Interval.of(times[kind]).columns("ns"), type=TYPES.get(kind.split(":")[0], ""))
            row.update(Interval.of_ratios(times[kind], times[_base(kind)]).columns("over_base"))
            row.update(base=_base(kind), each_ns=times[kind])
            row["instructions"] = instructions.get(kind) if setting == SMALL else None
            report.rows.append(row)
    report.columns = "setting stride type kind ns ns_low ns_high base over_base instructions"
    lines = [row for row in report.rows if row["kind"] in TYPES]
    report.pictures = [Lines(lines, "ns", "stride", "kind", ["setting"], log="xy")]
    _compare(report)
    _compare_with_the_figure(report)
    _compare_instructions(report, instructions)
    return report


def _base(kind: str) -> str:
    """What a kind is compared with: a write, a bare get, or a read of one's own."""
    if kind.startswith("write"):
        return "write"
    end = next((end for end in (*APART, ", independent") if kind.endswith(end)), "")
    remote = kind.startswith(("remote", "bare", "located")) and end not in APART
    return ("bare get" if remote else "own") + end


def _compare(report: Report) -> None:
    """Adds the claims about what an access costs over another, each about the worst stride."""
    for way in ("mc", "ac"):
        for end in SUMS:
            _claim(report, f"prefetched, {way}{end}", f"own{end}", 1.3)
    for base, limit in (("located get", CHECK), ("bare get", 2)):
        for end in SUMS:
            _claim(report, f"remote, checked{end}", f"{base}{end}", limit, "real misses")
    for kind in WRITES[1:]:
        _claim(report, kind, "write", 1.0941, "real misses")


def _compare_with_the_figure(report: Report) -> None:
    """Adds what section 6.2.1 says of Fig. 7."""
    for kind in PREFETCHED:
        _claim(report, kind, "remote", FAR_BELOW, "real misses", least_stride=64)
        _claim(report, kind, "remote", 1, "real misses")
    for ac, mc in (("prefetched, ac", "prefetched, mc"), ("replica, ac", "replica, mc")):
        _claim(report, ac, mc, 1.3)
        _claim(report, f"{mc}, in place", mc, 1)
    for kind, other in (("replica, ac", "prefetched, ac"), ("replica, mc", "prefetched, mc")):
        _claim(report, kind, other, 1.1)
    _claim(report, "own", "local array", 1.25)
    _claim(report, "own, view", "local array", 1.15)


def _claim(
    report: Report, kind: str, base: str, limit: float, where: str = "", least_stride: int = 1
) -> None:
    """About the worst stride and setting; `real misses`: of those that have a network."""
    settings = {row["setting"] for row in report.rows if row["network"] or not where}
    pairs: dict[tuple[str, int], dict[str, Row]] = {}
    for row in report.rows:
        if row["setting"] in settings and row["stride"] >= least_stride and row["kind"] in (kind, base):
            pairs.setdefault((row["setting"], row["stride"]), {})[row["kind"]] = row
    ratios = [
        (Interval.of_ratios(both[kind]["each_ns"], both[base]["each_ns"]), f"{setting}, stride {stride}")
        for (setting, stride), both in pairs.items()
    ]
    measured, detail = worst(Claim.at_most, ratios)
    text = f"{kind}: time over {base}" + (f", strides from {least_stride}" if least_stride > 1 else "")
    report.claims.append(Claim.at_most(text, limit, measured, "times", detail))


def _compare_instructions(report: Report, instructions: dict[str, Optional[float]]) -> None:
    checked, located = instructions.get("remote, checked"), instructions.get("located get")
    if checked and located:
        text = "remote, checked: instructions over those of a located get"
        detail = f"{checked:.5g} and {located:.5g}, stride 1"
        report.claims.append(Claim.at_most(text, CHECK, checked / located, "times", detail))


def _instructions(kind: str) -> Optional[float]:
    """Of an access with stride 1 to what is in the page cache, with the loop's; the same in every run."""
    program = str(harness.own_program("array_access_cost"))
    words = [program, "--elements", str(SMALL.elements), "--rounds", "1", "--only", kind]
    return instructions_each(
        lambda count: [*words, "--count", str(count), "--remote-count", str(count)], 100_000, 200_000
    )


def _measure(setting: Setting, stride: int, counts: tuple[int, int, int]) -> Row:
    rounds, count, remote_count = counts
    words = [harness.own_program("array_access_cost"), "--elements", setting.elements, "--stride", stride]
    words += ["--rounds", rounds, "--count", count, "--remote-count", remote_count]
    words += ["--network", setting.network] if setting.network else []
    output = harness.execute([*map(str, words)], timeout_s=600)
    found = next(json.loads(line) for line in output.splitlines() if line.startswith("{"))
    if found["right"] != 1:
        raise harness.BenchError("array_access_cost has read wrong elements: run it by itself")
    return found
