# SPDX-License-Identifier: Apache-2.0
"""The command `./nf bench`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Optional, Sequence

from bench import page
from bench.harness import RESULTS, BenchError, Options, Report, positive, shown_path
from nearfetch import NearfetchError

NAMES = (
    "fig01_synthetic",
    "fig02_prefetch",
    "fig03_applications",
    "fig07_access_cost",
    "fig08_overlap",
    "fig09_adaptive_index",
    "fig10_occupancy",
    "fig11_victim_selection",
    "fig12_barnes_hut",
    "fig13_barnes_hut_accesses",
    "fig15_lcc",
    "fig16_lcc_accesses",
    "lapps07_access_cost",
    "lapps08_initialisation",
    "lapps09_update",
    "lapps10_ratio",
    "lapps11_programs",
    "lapps16_footprint",
    "modes",
    "never_slower",
    "nwchem",
    "page_cache_cost",
    "shared_buffer",
)
"""Modules of this package; each has TITLE, run(Options) -> Report and plot(Report, Path)."""

PRINTED_ROWS = 60


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command line; the exit code is 0 also where a claim does not hold."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        for name in NAMES:
            print(f"{name:<28}{module(name).TITLE}")
        print(f"{'all':<28}all of these, and a page that shows them")
        return 0
    if options.name is None:
        parser.error("no benchmark (nothing to run): name one of --list")
    if options.name == "all" and options.json:
        parser.error("--json with all (one file cannot take them all): leave it out")
    problem = _unwritable(Path(options.json)) if options.json else ""
    if problem:
        parser.error(f"--json {options.json} ({problem}; what is measured would be lost): name another file")
    names = NAMES if options.name == "all" else (options.name,)
    asked = Options(options.quick, options.rounds, not options.no_progress)
    failures: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        if len(names) > 1:
            print(f"{number} of {len(names)}: ", end="")
        try:
            measure(name, asked, Path(options.json) if options.json else RESULTS / f"{name}.json")
        except (BenchError, NearfetchError) as error:
            # The others are worth having: together they take long.
            print(f"bench: {name}: {error}\n", file=sys.stderr)
            failures[name] = str(error)
    if options.name == "all":
        measured = [name for name in names if name not in failures]
        print(f"all of them on one page: {shown_path(page.write(RESULTS, measured, failures))}")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nf bench",
        description="Benchmarks: one per figure of papers 000, 001 and 004.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", nargs="?", choices=(*NAMES, "all"), metavar="NAME", help="a name of --list, or all"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="where to write the results (default: build/bench/NAME.json); a picture beside it",
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller parameters: shows that it runs, not how fast"
    )
    parser.add_argument(
        "--rounds", type=positive, metavar="N", help="times that each side of a comparison is run"
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


def module(name: str) -> ModuleType:
    """The module of a benchmark."""
    return importlib.import_module(f"bench.{name}")


def measure(name: str, options: Options, path: Path) -> Report:
    """Runs one benchmark, writes its JSON to `path` and a picture beside it, and prints what came out."""
    print(f"{name}: {module(name).TITLE}", flush=True)
    begin = time.monotonic()
    report = module(name).run(options)
    report.parameters = {"quick": options.quick, **report.parameters}
    seconds = time.monotonic() - begin
    picture = path.with_suffix(".png")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report.to_json(name), indent=1) + "\n", encoding="utf-8")
    module(name).plot(report, picture)
    print(table(report))
    for claim in report.claims:
        verdict = "holds" if claim.holds else "SHORT"
        print(f"  {verdict}  {claim.text}: {claim.measured:g}, to reach {claim.target}  ({claim.detail})")
    print(f"  {shown_path(path)}, {shown_path(picture)}; {seconds:.0f} s\n", flush=True)
    return report


def table(report: Report) -> str:
    """The report's columns as text."""
    columns = report.columns or list(report.rows[0])
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
