# SPDX-License-Identifier: Apache-2.0
"""The page cache's parameters, one at a time, and the paper's own mode (000, section VII).

What the paper leaves to further study: dirty pages, the sizes of pages and lines, the cache's size, and the
shares of its queues. Besides: S3-FIFO for 2Q, and one by one what nearfetch does and the paper does not. Each
program runs with every value on two modelled networks in virtual time, and is compared with the default. The
paper's mode has forward read-ahead with a fixed distance, a message for each page, and writes a page back
before its other lines are read.
"""

from __future__ import annotations

from bench import pgas
from bench.harness import Options
from bench.pgas import Stage
from bench.plots import Bars, Lines
from bench.report import Claim, Interval, Report, Row

TITLE = "The page cache's parameters (000, section VII)"

DEFAULT, PAPER = "default", "as the paper"
PAPERS = ("--paper-read-ahead", "--no-combine-pages", "--wait-for-writes")
SMALL = 64 << 10
NUMBERS = {
    "dirty pages": ("--dirty-pages", (1, 4, 16, 64, 256)),
    "page bytes": ("--page-bytes", (256, 512, 2048, 4096)),
    "line bytes": ("--line-bytes", (16, 32, 128, 256)),
    "cache bytes": ("--cache-bytes", (64 << 10, 128 << 10, 512 << 10, 4 << 20)),
    "operations": ("--operations", (2, 8, 32, 256)),
    "new percent of 64 KiB": ("--cache-bytes", SMALL, "--new-percent", (10, 25, 50, 75)),
    "names percent of 64 KiB": ("--cache-bytes", SMALL, "--names-percent", (10, 50, 100, 400)),
}
"""Parameters, their options and values. The queues' shares matter where not everything fits."""
SWITCHES = {
    PAPER: PAPERS,
    "no read-ahead": ("--no-read-ahead",),
    "read-ahead as the paper": PAPERS[:1],
    "a message for each page": PAPERS[1:2],
    "writes before reads": PAPERS[2:],
    "S3-FIFO": ("--policy", "s3fifo"),
}
PROGRAMS = {
    "copy": ("copy", (), 2),
    "rand_puts": ("rand_puts", ("--accesses", 10_000), 2),
    "prefetch": ("prefetch", ("--accesses", 10_000), 2),
    "ptrans": ("ptrans", (), 8),
    "minimd": ("minimd", ("--size", 6, "--steps", 3, "--work-ns", 30), 8),
    "lulesh": ("lulesh", ("--size", 10, "--cycles", 5), 8),
}
"""Programs, their arguments and numbers of ranks."""


def run(options: Options) -> Report:
    """All values of all parameters, for each program and network."""
    report = Report({"programs": list(PROGRAMS)}, columns="program network parameter value seconds speed_up")
    sides: dict[str, tuple[object, ...]] = {DEFAULT: ()}
    of_side: dict[str, tuple[str, object]] = {DEFAULT: (DEFAULT, "")}
    for name, (*option, values) in NUMBERS.items():
        for value in options.choose(values, values[:1]):
            sides[f"{name} {value}"] = (*option, value)
            of_side[f"{name} {value}"] = (name, value)
    for name, words in SWITCHES.items():
        sides[name] = words
        of_side[name] = (name, "")
    for network in options.choose(("aries", "1gbe"), ("aries",)):
        for name in options.choose(tuple(PROGRAMS), ("copy", "ptrans")):
            program, words, ranks = PROGRAMS[name]
            rows = pgas.compare(
                *(program, words, Stage(network, "virtual"), 1, options, ranks, sides, DEFAULT),
                same="right" if program == "lulesh" else "checksum",
            )
            report.rows += [
                {**row, "parameter": of_side[row["side"]][0], "value": of_side[row["side"]][1]}
                for row in rows
            ]
    modes = [row for row in report.rows if row["parameter"] in SWITCHES]
    report.findings = pgas.findings(pgas.find(modes, side=PAPER) + _defaults(report.rows), base=PAPER)
    report.claims = [_claim(row) for row in pgas.find(report.rows, side=PAPER)]
    numbers = [row for row in report.rows if row["parameter"] in NUMBERS]
    report.pictures = [
        Lines(numbers, "speed_up", "value", "network", ["parameter", "program"], log="x"),
        Bars(modes, "speed_up", ["network"], ["program", "side"], log="x"),
    ]
    return report


def _defaults(rows: list[Row]) -> list[Row]:
    """The rows of the default, compared with the paper's mode."""
    found = []
    for row in pgas.find(rows, side=DEFAULT):
        (papers,) = pgas.find(rows, side=PAPER, program=row["program"], network=row["network"])
        ratios = Interval.of_ratios(papers["each_seconds"], row["each_seconds"])
        found.append({**row, **ratios.columns("speed_up")})
    return found


def _claim(row: Row) -> Claim:
    """That the default is at least as fast as the paper's mode."""
    faster = Interval.in_row(row, "speed_up")
    over = Interval(*(1 / end for end in (faster.median, faster.high, faster.low)))
    text = f"{row['program']} on {row['network']}: default over the paper's mode"
    return Claim.at_least(text, 1, over, "times", f"{row['seconds']:.4g} s in the paper's mode")
