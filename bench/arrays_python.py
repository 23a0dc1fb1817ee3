# SPDX-License-Identifier: Apache-2.0
"""Programs on arrays in Python: nearfetch's, the same by hand with mpi4py, and with dask.

2 ranks in shared memory. Heat on a plate, k-means, PageRank and a two-dimensional FFT are written three times
(apps/python/arrays). Rank 0 has the input as an array of numpy or scipy, and gets the result: distributing
and collecting count. By hand buffers and requests are made once, and messages have what the other rank needs.
dask has two threads of one process, its default, and as many chunks. Each library of linear algebra has one
thread. Results have to agree to seven digits. Lines are those of code, without input, arguments and output.

Products of sparse matrices are measured on one rank, beside scipy's own.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tempfile
import tokenize
from functools import partial
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

from bench import ROOT
from bench.harness import BUILD, PLAIN, BenchError, Options, Place, alternate, execute, families, run_command
from bench.plots import Bars
from bench.promises import PROGRAM_RATIO
from bench.report import Claim, Interval, Report, Row, finding
from nearfetch.mpiexec import without_nearfetch

TITLE = "Arrays in Python, beside mpi4py by hand and dask"

SAMPLES = 9
FOLDER = ROOT / "apps" / "python" / "arrays"
NEARFETCH, BY_HAND, DASK = "nearfetch", "mpi4py", "dask"
RANKS = 2
TIME_LIMIT, LINES_LIMIT = 1.2, 0.5
"""Of mpi4py by hand."""
DIFFERENCE = 1e-7
"""Of two results, relative to their size."""


class Problem(NamedTuple):
    """What a program is run with."""

    name: str
    size: int
    amount: float
    quick_size: int
    quick_amount: float

    def words(self, side: str, options: Options) -> list[object]:
        """The command that runs it."""
        size = options.choose(self.size, self.quick_size)
        amount = options.choose(self.amount, self.quick_amount)
        return [sys.executable, FOLDER / "run.py", self.name, side, "--size", size, "--amount", amount]


PROBLEMS = (
    Problem("heat", 2000, 100, 40, 10),
    Problem("kmeans", 400_000, 20, 1000, 3),
    Problem("pagerank", 200_000, 1e-10, 1000, 1e-4),
    Problem("fft", 1024, 40, 32, 2),
)


class Run(NamedTuple):
    """What a run came to."""

    seconds: float
    result: np.ndarray


def run(options: Options) -> Report:
    """All programs, then the sparse products."""
    samples = options.samples(SAMPLES)
    report = Report({"samples": samples, "ranks": RANKS, "problems": [each._asdict() for each in PROBLEMS]})
    report.columns = "program network side seconds time_over_mpi4py lines"
    for problem in PROBLEMS:
        for number, family in enumerate(families()):
            # dask has no MPI: once is enough.
            report.rows += _rows(problem, Place(family, RANKS, "shm"), number == 0, samples, options)
        report.claims += _claims(problem.name, [r for r in report.rows if r["program"] == problem.name])
    products = _products(samples, options)
    report.rows += products
    for row in products:
        if row["side"] != NEARFETCH:
            continue
        text = f"{row['program']}: speed over scipy's, on one rank"
        report.claims.append(Claim.at_least(text, PROGRAM_RATIO, Interval.in_row(row, "speed_up"), "times"))
    report.findings = _findings(report.rows)
    measured = [row for row in report.rows if "time_over_mpi4py" in row and row["side"] != BY_HAND]
    report.pictures = [Bars(measured, "time_over_mpi4py", ["side", "network"], ["program"])]
    return report


def _rows(problem: Problem, place: Place, has_dask: bool, samples: int, options: Options) -> list[Row]:
    sides = [NEARFETCH, BY_HAND, *([DASK] if has_dask else [])]
    calls = {side: partial(_run, problem, side, place, options) for side in sides}
    runs = alternate(calls, samples, options, f"{problem.name}, {place}")
    expected = runs[BY_HAND][0].result
    for side, each in runs.items():
        for one in each:
            _require_same(f"{problem.name}, {side}", one.result, expected)
    seconds = {side: [one.seconds for one in each] for side, each in runs.items()}
    return [
        {
            "program": problem.name,
            "network": str(place) if side != DASK else "threads",
            "side": side,
            "each_seconds": times,
            **Interval.of(times).columns("seconds"),
            **Interval.of_ratios(times, seconds[BY_HAND]).columns("time_over_mpi4py"),
            **Interval.of_ratios(seconds[BY_HAND], times).columns("speed_up"),
            "lines": code_lines(FOLDER / f"{problem.name}_{side}.py"),
        }
        for side, times in seconds.items()
    ]


def _run(problem: Problem, side: str, place: Place, options: Options) -> Run:
    with tempfile.TemporaryDirectory(prefix="nearfetch-bench-") as scratch:
        saved = Path(scratch) / "result.npy"
        words = [*problem.words(side, options), "--save", saved]
        if side == DASK:
            environ = {**without_nearfetch(os.environ), **_environment()}
            output = execute([str(word) for word in words], environ)
        else:
            output = run_command(words, place, PLAIN, more_env=_environment(place.family)).output
        return Run(json.loads(output.splitlines()[-1])["seconds"], np.load(saved))


def _environment(family: Optional[str] = None) -> dict[str, str]:
    """One thread for linear algebra, as many ranks as cores have each its own; and mpi4py at its quickest."""
    environ = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPI4PY_RC_THREAD_LEVEL": "single"}
    environ.update(PYTHONPATH=str(ROOT / "python"), NEARFETCH_BUILD=str(BUILD))
    if family == "openmpi":
        # mpi4py would otherwise take the MPICH of its virtual environment.
        environ.update(MPI4PY_MPIABI="openmpi", MPI4PY_LIBMPI="libmpi.so.40")
    return environ


def _require_same(what: str, result: np.ndarray, expected: np.ndarray) -> None:
    """Raises BenchError where a result is another one than by hand."""
    if result.shape != expected.shape:
        raise BenchError(f"{what}: a result of shape {result.shape}, by hand {expected.shape}: report it")
    difference = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    if not difference <= DIFFERENCE:
        raise BenchError(f"{what}: a result that differs from that by hand by {difference:.1g}: report it")


def _claims(program: str, rows: list[Row]) -> list[Claim]:
    claims = [
        Claim.at_most(
            f"{program}, {row['network']}: time, over that of mpi4py by hand",
            TIME_LIMIT,
            Interval.in_row(row, "time_over_mpi4py"),
            "times",
        )
        for row in rows
        if row["side"] == NEARFETCH
    ]
    lines = {row["side"]: row["lines"] for row in rows}
    detail = ", ".join(f"{side} {count}" for side, count in lines.items())
    text = f"{program}: lines, over those of mpi4py by hand"
    return [*claims, Claim.at_most(text, LINES_LIMIT, lines[NEARFETCH] / lines[BY_HAND], "times", detail)]


def _products(samples: int, options: Options) -> list[Row]:
    rows, products = options.choose((100_000, 40), (400, 2))
    words = [sys.executable, FOLDER / "spmv.py", "--rows", rows, "--products", products, "--samples", samples]
    environ = {**without_nearfetch(os.environ), **_environment()}
    found = []
    for line in execute([str(word) for word in words], environ).splitlines():
        one = json.loads(line)
        theirs, ours = ([value / products for value in one[side]] for side in ("scipy", NEARFETCH))
        program = f"{one['matrix']} @ {one['vector']}"
        for side, times in (("scipy", theirs), (NEARFETCH, ours)):
            found.append(
                {
                    "program": program,
                    "network": "one rank",
                    "side": side,
                    "non_zeros": one["nnz"],
                    **Interval.of(times).columns("seconds"),
                    **Interval.of_ratios(theirs, times).columns("speed_up"),
                }
            )
    return found


def _findings(rows: list[Row]) -> list[object]:
    """nearfetch beside what it is compared with, one a program."""
    found = []
    for row in rows:
        if row["side"] == NEARFETCH:
            where = {key: row[key] for key in ("program", "network")}
            other = next(r for r in rows if r["side"] in (BY_HAND, "scipy") and where.items() <= r.items())
            text = f"{row['program']}, {row['network']}: beside {other['side']}"
            found.append(finding(text, other, row, "seconds", "s", "speed_up"))
    return found


def code_lines(path: Path) -> int:
    """Lines of a Python file with code: not blank, not a comment, not of a docstring."""
    text = path.read_text(encoding="utf-8")
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    skipped |= {tokenize.ENCODING, tokenize.ENDMARKER}
    lines = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
        for number in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)
