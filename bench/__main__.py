# SPDX-License-Identifier: Apache-2.0
"""The command `./nf bench`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Optional, Sequence

from bench import NAMES, module, plots
from bench.harness import RESULTS, BenchError, Options, shown_path
from bench.report import Report
from nearfetch import NearfetchError

PRINTED_ROWS = 60


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command line; 1 where something could not be measured, or a claim does not hold."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        for name in NAMES:
            print(f"{name:<28}{module(name).TITLE}")
        print(f"{'all':<28}all of these")
        return 0
    if options.name is None:
        parser.error("no benchmark (nothing to run): name one of --list")
    names = NAMES if options.name == "all" else (options.name,)
    place = Path(options.json) if options.json else RESULTS
    if options.name == "all" and place.suffix == ".json":
        parser.error(f"--json {place} with all (one file cannot take them all): name a folder")
    paths = {name: place if place.suffix == ".json" else place / f"{name}.json" for name in names}
    problem = next(filter(None, map(_unwritable, paths.values())), "")
    if problem:
        parser.error(f"--json {place} ({problem}; what is measured would be lost): name another place")
    asked = Options(options.quick, not options.no_progress)
    failures = []
    for number, (name, path) in enumerate(paths.items(), 1):
        print(f"{number} of {len(names)}: " if len(names) > 1 else "", end="")
        try:
            report = measure(name, asked, path)
        except (BenchError, NearfetchError) as error:
            # The others are worth having: together they take long.
            print(f"bench: {name}: {error}\n", file=sys.stderr)
            failures.append(f"{name}: could not be measured")
        else:
            failures += [f"{name}: {claim.text}" for claim in report.claims if not claim.holds]
    for failure in failures:
        print(f"bench: short: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nf bench",
        description="Benchmarks: one per figure of papers 000, 001 and 004.",
        epilog="Exit status 1: something could not be measured, or a claim does not hold.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", nargs="?", choices=(*NAMES, "all"), metavar="NAME", help="a name of --list, or all"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument(
        "--json",
        metavar="PATH",
        help="a file NAME.json, or a folder for it (default: build/bench, where the pictures go)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="smaller parameters, one sample: shows that it runs, not how fast",
    )
    parser.add_argument("--no-progress", action="store_true", help="no progress bar on standard error")
    return parser


def _unwritable(path: Path) -> str:
    """Why a file cannot be written at `path`, whose folder is made; empty where it can."""
    if path.is_dir():
        return "it is a folder"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("a").close()
    except OSError as error:
        return str(error.strerror)
    return ""


def measure(name: str, options: Options, path: Path, pictures: Path = RESULTS) -> Report:
    """Runs one benchmark, writes its JSON to `path` and a picture to `pictures`, and prints what came out."""
    print(f"{name}: {module(name).TITLE}", flush=True)
    begin = time.monotonic()
    report = module(name).run(options)
    seconds = time.monotonic() - begin
    for folder in (path.parent, pictures):
        folder.mkdir(parents=True, exist_ok=True)
    document = report.to_json(name, options.quick, seconds)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    picture = pictures / f"{name}.png"
    if report.pictures:
        plots.draw(report.pictures, picture, module(name).TITLE)
    print(table(report))
    for claim in report.claims:
        verdict = "holds" if claim.holds else "SHORT"
        median, low, high = claim.measured
        interval = "" if low == high else f" [{low:g}, {high:g}]"
        print(f"  {verdict}  {claim.text}: {median:g}{interval}, to reach {claim.target}  ({claim.detail})")
    print(f"  {shown_path(path)}, {shown_path(picture)}; {seconds:.0f} s\n", flush=True)
    return report


def table(report: Report) -> str:
    """The report's columns as text."""
    columns = report.columns.split() or list(report.rows[0])
    cells = [[_cell(row.get(column, "")) for column in columns] for row in report.rows[:PRINTED_ROWS]]
    widths = [max(len(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    lines = [
        "  " + "  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in [columns, *cells]
    ]
    if len(report.rows) > PRINTED_ROWS:
        lines.append(f"  ... {len(report.rows) - PRINTED_ROWS} more rows in the JSON file")
    return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
