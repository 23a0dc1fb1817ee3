#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: clustering coefficients of a real social network, plain and under nearfetch.

The program is apps/lcc, which does not use nearfetch. Each of 4 ranks holds a part of the graph, and reads
the others' adjacency lists by MPI_Get over TCP. Plain runs and runs under `nearfetch run --mode
always-cache` are interleaved, and have to give the same results, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import plots  # noqa: E402
from bench.harness import (  # noqa: E402
    ACCESS_TYPES,
    CACHED,
    GRAPH,
    PLAIN,
    BenchError,
    Outcome,
    Place,
    Side,
    positive,
    run,
    shown_path,
)
from nearfetch import NearfetchError  # noqa: E402

MORE_ROUNDS_WITHIN_S = 45.0
MOST_ROUNDS = 3
MPICH_VERTICES = 500
PICTURE = ROOT / "build" / "demo" / "access_types.png"
SAME = ("average", "triangles", "closed_pairs", "processed_vertices", "remote_gets")


def main() -> int:
    """Runs the demo."""
    options = _options()
    place = Place(options.mpi, 4, "tcp")
    print(f"Local clustering coefficients of {GRAPH.name}")
    print(f"{place.ranks} ranks, {place.family} over TCP on the loopback interface", flush=True)
    if options.mpi == "mpich" and options.max_vertices is None and (os.cpu_count() or 1) < place.ranks:
        options.max_vertices = MPICH_VERTICES
        print(f"(its ranks poll and there are fewer cores: the first {MPICH_VERTICES} vertices of each rank)")
    try:
        plain, cached, outcome = measure(place, options.max_vertices)
    except (BenchError, NearfetchError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    agrees = show_results(plain[0], cached)
    show_times(plain, cached)
    show_accesses(outcome)
    draw(outcome, options.picture, options.mpi)
    print(f"\npicture of the access types: {shown_path(options.picture)}")
    return 0 if agrees else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nf demo", description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default="openmpi", help="which MPI library")
    parser.add_argument(
        "--max-vertices",
        type=positive,
        metavar="N",
        help="only the first N vertices of each rank (default: all)",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", default=PICTURE, help="where the picture goes"
    )
    return parser.parse_args()


def measure(
    place: Place, max_vertices: Optional[int]
) -> tuple[list[dict[str, str]], list[dict[str, str]], Outcome]:
    """What lcc printed in each plain and each cached run, and the last cached run."""
    plain, cached = [], []
    begin = time.monotonic()
    while True:
        plain.append(_lines(_lcc("plain", place, PLAIN, max_vertices)))
        outcome = _lcc("nearfetch", place, CACHED, max_vertices)
        cached.append(_lines(outcome))
        spent = time.monotonic() - begin
        if len(plain) == MOST_ROUNDS or spent * (1 + 1 / len(plain)) > MORE_ROUNDS_WITHIN_S:
            return plain, cached, outcome


def _lcc(label: str, place: Place, side: Side, max_vertices: Optional[int]) -> Outcome:
    bar = sys.stderr.isatty()
    print(f"\n{label}, running ...", flush=True)
    arguments: list[object] = [GRAPH, *(["--progress"] if bar else [])]
    if max_vertices is not None:
        arguments += ["--max-vertices", max_vertices]
    outcome = run("lcc", arguments, place, side, timeout_s=600, show_errors=bar)
    print(f"{label}: communication took {float(_lines(outcome)['communication_seconds']):.2f} s", flush=True)
    return outcome


def _lines(outcome: Outcome) -> dict[str, str]:
    """The lines `name value` that lcc prints."""
    return dict(line.split(maxsplit=1) for line in outcome.output.splitlines() if " " in line)


def show_results(plain: dict[str, str], cached: list[dict[str, str]]) -> bool:
    """Prints the results; true if each cached run has the plain run's."""
    print()
    for name in ("vertices", "edges", "average", "triangles"):
        if name in plain:
            print(f"  {name:<12}{plain[name]}")
    differing = sorted({name for name in SAME for each in cached if each.get(name) != plain.get(name)})
    if differing:
        print(f"  THE RESULTS DIFFER in {', '.join(differing)} (a bug of nearfetch): please report it")
        return False
    print("  the same with and without nearfetch, bit for bit")
    return True


def show_times(plain: list[dict[str, str]], cached: list[dict[str, str]]) -> None:
    """Prints the medians of the times and their ratios."""
    print(f"\n  {'seconds':<16}{'plain':>10}{'nearfetch':>12}{'speed-up':>11}    (medians of {len(plain)})")
    for name, label in (("total_seconds", "total"), ("communication_seconds", "communication")):
        before = statistics.median(float(each[name]) for each in plain)
        after = statistics.median(float(each[name]) for each in cached)
        print(f"  {label:<16}{before:>10.2f}{after:>12.2f}{before / after:>10.1f}x")


def show_accesses(outcome: Outcome) -> None:
    """Prints how the gets went, by rank and access type."""
    ranks = range(len(outcome.counters))
    shares = [outcome.shares(rank) for rank in ranks] + [outcome.shares()]
    print("\n  gets by access type, in percent:")
    print(f"  {'':<16}" + "".join(f"{f'rank {rank}':>9}" for rank in ranks) + f"{'all':>9}")
    for name in ACCESS_TYPES:
        if any(share[name] for share in shares):
            print(
                f"  {name.replace('_', ' '):<16}" + "".join(f"{100 * share[name]:>9.1f}" for share in shares)
            )
    requested = outcome.total("bytes_requested")
    fetched = outcome.total("bytes_from_network")
    print(f"  of {requested / 1e6:.0f} MB that were asked for, {fetched / 1e6:.1f} MB went over the network")


def draw(outcome: Outcome, path: Path, family: str) -> None:
    """Writes the picture: one stacked bar per rank."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, (axis,) = plots.panels(1, width=6, height=3.6)
    ranks = range(len(outcome.counters))
    plots.access_types(axis, [f"rank {rank}" for rank in ranks], [outcome.shares(rank) for rank in ranks])
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plots.save(figure, path, f"LCC, {GRAPH.name}, {family} over TCP")


if __name__ == "__main__":
    sys.exit(main())
