# SPDX-License-Identifier: Apache-2.0
"""What ranks of a node share: messages and bytes between nodes, against what is possible.

Unmodified programs run on four ranks over TCP, of which two count as a node (`node_ranks=2`). A recorded run
says what caches without limit would fetch from the other node: one of each rank, or one of each node. Beside
it stand windows whose ranks share nothing, and windows that share. Both fetch what is asked for, and no more
(`read_ahead_bytes=0`). All is counted; four ranks on two processors say nothing of time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Sequence

from bench import apps
from bench.harness import (
    BUILD,
    GRAPH,
    PLAIN,
    BenchError,
    Options,
    Outcome,
    Place,
    Side,
    execute,
    families,
    own_program,
    program,
)
from bench.plots import Bars
from bench.report import Claim, Report, Row
from nearfetch.mpiexec import mpiexec, without_nearfetch
from nearfetch.recording import unpacked

TITLE = "Ranks of a node share what they have fetched"

NODE_RANKS = 2
RANKS = 4
MORE = 1.05
"""Of what a node's cache without limit would fetch."""

_FETCHED = {"node_ranks": NODE_RANKS, "read_ahead_bytes": 0, "bypass": "off"}
SIDES = {
    "plain": PLAIN,
    "private": Side("acquire", {**_FETCHED, "node_buffer_bytes": 0}),
    "shared": Side("acquire", _FETCHED),
}


class Program(NamedTuple):
    """A program, and the result that must not differ."""

    name: str
    arguments: Sequence[object]
    same: str


def programs(options: Options) -> list[Program]:
    """What is counted."""
    vertices, keys, lookups = options.choose((200, 5000, 2500), (30, 500, 500))
    bodies, computed = options.choose((1000, 25), (200, 10))
    return [
        Program("lcc", [GRAPH, "--max-vertices", vertices], "average"),
        Program("barnes_hut", ["--bodies", bodies, "--steps", 2, "--max-bodies", computed], "checksum"),
        Program("hash_table", ["--keys", keys, "--lookups", lookups], "checksum"),
    ]


def run(options: Options) -> Report:
    """Results of all runs of a program have to be the same."""
    report = Report({"ranks": RANKS, "node_ranks": NODE_RANKS})
    chosen = programs(options)
    with options.progress(len(families()) * len(chosen) * (len(SIDES) + 1), "node_level") as bar:
        for family in families():
            for each in chosen:
                place = Place(family, RANKS, "tcp")
                possible = _possible(each, place)
                bar.update()
                found = {}
                for side in SIDES:
                    found[side] = apps.measure(each.name, each.arguments, place, SIDES[side])
                    bar.update()
                if len({json.dumps(result.report[each.same]) for result in found.values()}) != 1:
                    raise BenchError(f"{each.name}, {place}: '{each.same}' differs between runs: report it")
                rows = _rows(
                    f"{each.name}, {place}", possible, found["private"].outcome, found["shared"].outcome
                )
                report.rows += rows
                report.claims += _claims(rows)
    report.columns = "what caches messages bytes"
    report.pictures = [Bars(report.rows, "bytes", ["caches"], ["what"], log="x")]
    return report


def _possible(each: Program, place: Place) -> Row:
    """What caches without limit would fetch, by a recorded run."""
    launch = mpiexec(place.family, place.ranks, place.network, without_nearfetch(os.environ))
    command = [*launch.argv, program(place.family, each.name), *each.arguments]
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        folder = Path(scratch) / "recorded"
        record = [sys.executable, BUILD / "bin" / "nearfetch", "record", "-o", folder, "--mpi", place.family]
        execute([*map(str, record), "--", *map(str, command)], launch.env)
        with unpacked(folder) as files:
            words = [str(own_program("node_count")), "--node-ranks", str(NODE_RANKS), *map(str, files)]
            return json.loads(execute(words))


def _rows(what: str, possible: Row, private: Outcome, shared: Outcome) -> list[Row]:
    """Of messages between nodes. Those of a node are the same in all runs."""

    def row(caches: str, messages: int, moved: int) -> Row:
        return {"what": what, "caches": caches, "messages": messages, "bytes": moved}

    def counted(caches: str, outcome: Outcome) -> Row:
        messages = outcome.total("gets") - outcome.total("hits") - outcome.total("pending_hits")
        messages -= outcome.total("own_memory") + possible["near_messages"]
        return row(caches, messages, outcome.total("bytes_from_network") - possible["near_bytes"])

    return [
        row("private, without limit", possible["rank_messages"], possible["rank_bytes"]),
        counted("private", private),
        row("shared, without limit", possible["node_messages"], possible["node_bytes"]),
        counted("shared", shared),
    ]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    """Polls, and what no cache keeps, are fetched by private caches beside what caches without limit would
    fetch: sharing saves nothing of these."""
    unlimited, private, best, shared = rows
    claims = []
    for column in ("messages", "bytes"):
        ratio = shared[column] / max(best[column] + private[column] - unlimited[column], 1)
        text = f"{shared['what']}: {column} between nodes, over what is possible"
        claims.append(Claim.at_most(text, MORE, ratio, "times"))
    return claims
