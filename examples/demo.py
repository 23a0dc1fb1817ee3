#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: clustering coefficients of a real social network, plain and under nearfetch.

The program is apps/lcc, which does not use nearfetch. Each rank holds a part of the graph, and reads the
others' adjacency lists by MPI_Get over TCP. Plain runs and runs under `nearfetch run --mode always-cache`
take turns until the speed-up is known to 10 %, for a minute at most. All of them have to give the same
results, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

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
from bench.report import FEWEST_SAMPLES, Interval  # noqa: E402
from nearfetch import NearfetchError  # noqa: E402

SECONDS = 60
KNOWN_TO = 0.1
MOST_RANKS = 8
PICTURE = ROOT / "build" / "demo" / "demo.png"
SAME = ("average", "triangles", "closed_pairs", "processed_vertices", "remote_gets")

NEXT = """
Next, with your own program: the same binary, and no rebuild.
  ./nf run --summary -- mpiexec -n 4 ./app    # says at its end what was gained, or why not
  ./nf run --pretend-remote --summary -- ...  # the same on one machine as if on several: over TCP
  docs/tuning.md                              # which mode suits a program, and which promises it can make
"""


class Runs(NamedTuple):
    """The runs of one side."""

    values: list[dict[str, str]]
    """Of each run what lcc printed, by name."""
    last: Outcome

    def seconds(self, name: str) -> list[float]:
        """A time of each run."""
        return [float(each[name]) for each in self.values]


def main() -> int:
    """Runs the demo."""
    options = _options()
    place = Place(options.mpi, options.ranks, "tcp")
    print(f"Local clustering coefficients of {GRAPH.name}")
    print(f"{place.ranks} ranks, {place.family} over TCP on the loopback interface\n", flush=True)
    try:
        plain, cached = measure(place, options.max_vertices, options.seconds)
    except (BenchError, NearfetchError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    agrees = show_results(plain, cached)
    show_times(plain, cached)
    show_accesses(cached.last)
    draw(plain, cached, options.picture, f"LCC, {GRAPH.name}, {place.ranks} ranks, {place.family} over TCP")
    print(f"\n  picture: {shown_path(options.picture)}")
    print(NEXT, end="")
    return 0 if agrees else 1


def _options() -> argparse.Namespace:
    ranks = min(max(os.cpu_count() or 1, 2), MOST_RANKS)
    parser = argparse.ArgumentParser(prog="nf demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), help="which MPI library", required=True)
    parser.add_argument("--ranks", type=positive, metavar="N", default=ranks, help=f"default: {ranks}")
    parser.add_argument(
        "--max-vertices",
        type=positive,
        metavar="N",
        help="only the first N vertices of each rank (default: all)",
    )
    parser.add_argument(
        "--seconds",
        type=positive,
        metavar="S",
        default=SECONDS,
        help=f"the longest time (default: {SECONDS})",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", default=PICTURE, help="where the picture goes"
    )
    return parser.parse_args()


def measure(place: Place, max_vertices: Optional[int], seconds: int) -> tuple[Runs, Runs]:
    """The plain runs, and those under nearfetch: one pair at least, and no more than fit into `seconds`."""
    plain, cached = [], []
    begin = time.monotonic()
    while True:
        turn = [(plain, "plain", PLAIN), (cached, "nearfetch", CACHED)]
        for done, label, side in turn if len(plain) % 2 == 0 else reversed(turn):
            print(f"  run {len(done) + 1}, {label + ':':<12}", end="", flush=True)
            outcome = _lcc(place, side, max_vertices)
            done.append((_lines(outcome), outcome))
            print(f"{float(done[-1][0]['communication_seconds']):6.2f} s of communication", flush=True)
        runs = [Runs([lines for lines, _ in done], done[-1][1]) for done in (plain, cached)]
        left = seconds - (time.monotonic() - begin) * (1 + 1 / len(plain))
        if left < 0 or is_known(speed_up(*runs, "communication_seconds"), len(plain)):
            return runs[0], runs[1]


def speed_up(plain: Runs, cached: Runs, name: str) -> Interval:
    """How many times shorter a time is under nearfetch."""
    return Interval.of_ratios(plain.seconds(name), cached.seconds(name))


def is_known(ratio: Interval, pairs: int) -> bool:
    """Whether the interval is narrow enough, and one of 95 %."""
    width = max(ratio.high - ratio.median, ratio.median - ratio.low)
    return pairs >= FEWEST_SAMPLES and width <= KNOWN_TO * ratio.median


def _lcc(place: Place, side: Side, max_vertices: Optional[int]) -> Outcome:
    most: Sequence[Any] = [] if max_vertices is None else ["--max-vertices", max_vertices]
    return run("lcc", [GRAPH, *most], place, side, timeout_s=600)


def _lines(outcome: Outcome) -> dict[str, str]:
    """The lines `name value` that lcc prints."""
    return dict(line.split(maxsplit=1) for line in outcome.output.splitlines() if " " in line)


def show_results(plain: Runs, cached: Runs) -> bool:
    """Prints the results; true if all runs have the same."""
    first = plain.values[0]
    print()
    for name in ("vertices", "edges", "average", "triangles"):
        if name in first:
            print(f"  {name:<12}{first[name]}")
    runs = [*plain.values, *cached.values]
    differing = [name for name in SAME if any(each.get(name) != first.get(name) for each in runs)]
    if differing:
        print(f"  THE RESULTS DIFFER in {', '.join(differing)} (a bug of nearfetch): please report it")
        return False
    print("  the same with and without nearfetch, bit for bit")
    return True


def show_times(plain: Runs, cached: Runs) -> None:
    """Prints the medians of the times, and their ratios."""
    print(f"\n  {'seconds':<16}{'plain':>8}{'nearfetch':>12}{'speed-up':>11}")
    for name, label in (("total_seconds", "total"), ("communication_seconds", "communication")):
        before, after = (Interval.of(side.seconds(name)).median for side in (plain, cached))
        ratio = speed_up(plain, cached, name)
        print(
            f"  {label:<16}{before:>8.2f}{after:>12.2f}{ratio.median:>10.1f}x"
            f"  ({ratio.low:.1f} to {ratio.high:.1f} in {len(plain.values)} pairs of runs)"
        )


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


def draw(plain: Runs, cached: Runs, path: Path, title: str) -> None:
    """Writes the picture: where the time goes, and what still goes over the network."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, (times, network) = plots.panels(2, width=4.4, height=3.6)
    sides = ("plain", "nearfetch")
    total, communication = (
        [Interval.of(side.seconds(name)).median for side in (plain, cached)]
        for name in ("total_seconds", "communication_seconds")
    )
    rest = [whole - part for whole, part in zip(total, communication)]
    times.bar(sides, communication, color=plots.COLORS["direct"], width=0.6, label="communication")
    stack = times.bar(
        sides, rest, bottom=communication, color=plots.COLORS["bypassed"], width=0.6, label="the rest"
    )
    times.bar_label(stack, labels=[f"{seconds:.2f} s" for seconds in total], padding=2)
    times.set_ylabel("seconds, medians")
    times.legend()

    last = cached.last
    saved = sum(last.total(name) for name in ("hits", "pending_hits"))
    asked = {"gets": last.total("gets"), "MB": last.total("bytes_requested") / 1e6}
    still = {"gets": asked["gets"] - saved, "MB": last.total("bytes_from_network") / 1e6}
    shares = [100 * still[what] / max(asked[what], 1) for what in asked]
    bars = network.bar(list(asked), shares, color=plots.COLORS["direct"], width=0.6)
    network.bar_label(bars, labels=[f"{still[what]:,.0f} of {asked[what]:,.0f}" for what in asked], padding=2)
    network.set_ylim(0, 100)
    network.set_ylabel("% that still needs the network")
    for axis in (times, network):
        axis.grid(axis="x", visible=False)
    plots.save(figure, path, title)


if __name__ == "__main__":
    sys.exit(main())
