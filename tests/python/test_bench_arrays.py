# SPDX-License-Identifier: Apache-2.0
"""The programs of `arrays_python` compute what numpy does, and the benchmark says what it promises."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from ranks import FAMILIES, need_family, need_native, run

from bench import arrays_python, harness
from bench.__main__ import measure

sys.path.insert(0, str(arrays_python.FOLDER))
import inputs  # noqa: E402

QUIET = harness.Options(quick=True, shown=False)
SIZES = {"heat": (23, 7), "kmeans": (101, 4), "pagerank": (67, 1e-9), "fft": (19, 3)}
"""Sizes that 3 ranks cannot share alike, and amounts."""

pytestmark = pytest.mark.usefixtures("bench_environment")


def heat(plate, steps):
    for _ in range(int(steps)):
        new = plate.copy()
        for i in range(1, len(plate) - 1):
            for j in range(1, len(plate) - 1):
                new[i, j] = (plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1]) / 4
        plate = new
    return plate


def kmeans(points, iterations):
    centres = points[: inputs.CLUSTERS]
    for _ in range(int(iterations)):
        distances = np.linalg.norm(points[:, np.newaxis] - centres, axis=2)
        nearest = distances.argmin(axis=1)
        # A cluster without points has its centre at 0.
        own = [points[nearest == at] for at in range(len(centres))]
        centres = np.stack([each.sum(axis=0) / max(len(each), 1) for each in own])
    return centres


def pagerank(links, tolerance):
    pages = links.shape[0]
    exact = np.linalg.solve(np.eye(pages) - 0.85 * links.toarray(), np.full(pages, 0.15 / pages))
    assert np.isclose(exact.sum(), 1)
    return exact


def fft(signal, times):
    for _ in range(int(times)):
        signal = np.fft.fft2(signal).T
    return signal


EXPECTED = {"heat": heat, "kmeans": kmeans, "pagerank": pagerank, "fft": fft}


def check(problem, side, tmp_path, family=None, ranks=1):
    size, amount = SIZES[problem]
    words = [arrays_python.FOLDER / "run.py", problem, side, "--size", size, "--amount", amount]
    run([*words, "--save", tmp_path / "result.npy"], family, ranks)
    expected = EXPECTED[problem](inputs.PROBLEMS[problem].make(size), amount)
    np.testing.assert_allclose(np.load(tmp_path / "result.npy"), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("problem", SIZES)
@pytest.mark.parametrize("side", ["nearfetch", "mpi4py"])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_programs_on_mpi(problem, side, ranks, family, tmp_path):
    need_family(family)
    check(problem, side, tmp_path, family, ranks)


@pytest.mark.parametrize("problem", SIZES)
@pytest.mark.parametrize("side", ["nearfetch", "dask"])
def test_programs_in_one_process(problem, side, tmp_path):
    need_native()
    check(problem, side, tmp_path)


def test_the_benchmark(tmp_path):
    report = measure("arrays_python", QUIET, tmp_path / "arrays.json", tmp_path)
    families = harness.families()
    for problem in arrays_python.PROBLEMS:
        rows = [row for row in report.rows if row["program"] == problem.name]
        assert [row["side"] for row in rows].count("dask") == 1
        assert len(rows) == 2 * len(families) + 1
        assert all(row["time_over_mpi4py"] == 1 for row in rows if row["side"] == "mpi4py")
        assert all(row["seconds"] > 0 and row["lines"] > 5 for row in rows)
        claims = [claim for claim in report.claims if claim.text.startswith(problem.name)]
        assert [claim.target for claim in claims] == [*(len(families) * ["<= 1.2 times"]), "<= 0.5 times"]
    products = [row for row in report.rows if row["network"] == "one rank"]
    assert len(products) == 2 * 3 * 3 and all(row["non_zeros"] > 0 for row in products)
    assert sum("over scipy's" in claim.text for claim in report.claims) == 3 * 3
    assert (tmp_path / "arrays_python.png").read_bytes().startswith(b"\x89PNG")


def test_a_result_that_differs_is_no_measurement():
    right = np.arange(10.0)
    arrays_python._require_same("x", right + 1e-9, right)
    with pytest.raises(harness.BenchError, match="differs from that by hand by 0.0"):
        arrays_python._require_same("x", right + 0.1, right)
    with pytest.raises(harness.BenchError, match="shape"):
        arrays_python._require_same("x", right[1:], right)


def test_lines_of_code(tmp_path):
    source = tmp_path / "x.py"
    source.write_text(
        '"""Two\n\nlines."""\n\n# No code.\nx = [\n    1,\n]  # code\n\n\n'
        'def f():\n    """No."""\n    return x\n'
    )
    assert arrays_python.code_lines(source) == 5
