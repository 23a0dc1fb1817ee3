# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of LAPPS's figures run, at what they would be with sizes that are tried."""

from __future__ import annotations

import os
import threading

import pytest

from bench import (
    harness,
    lapps07_access_cost,
    lapps08_initialisation,
    lapps10_ratio,
    lapps11_programs,
    lapps16_footprint,
    module,
    papers,
    pgas,
    versions,
)
from bench.__main__ import measure

QUIET = harness.Options(quick=True, shown=False)
FIGURES = {
    "lapps11_sobel": versions.SOBEL,
    "lapps12_heat": versions.HEAT,
    "lapps13_dgemm": versions.DGEMM,
    "lapps14_transpose": versions.TRANSPOSE,
    "lapps15_sparse": versions.SPARSE,
}

pytestmark = pytest.mark.usefixtures("bench_environment")


def test_memory_and_lines_of_versions(tmp_path):
    report = measure("lapps16_footprint", QUIET, tmp_path / "footprint.json", tmp_path)
    assert len(report.rows) == sum(len(source.sides()) for source in lapps16_footprint.SOURCES)
    for row in report.rows:
        assert row["peak_bytes"] > 1 << 20
        assert (row["added_lines"] == 0) == (row["side"] == "base")
    lines = {(row["program"], row["side"]): row["added_lines"] for row in report.rows}
    # A pattern for each array, or in a loop over them; with manual consistency an update in the loop, where
    # there is one.
    assert [lines["heat", side] for side in ("ac", "ac-sd", "mc", "mc-sd")] == [1, 1, 2, 2]
    assert [lines["dgemm", side] for side in ("ac", "mc")] == [2, 2]
    assert [lines["sparse", side] for side in ("ac", "mc", "observed")] == [1, 2, 2]
    assert all(lines[source.name, "hand"] >= 8 for source in lapps16_footprint.SOURCES)


def test_access_cost_of_arrays(tmp_path):
    report = measure("lapps07_access_cost", QUIET, tmp_path / "access.json", tmp_path)
    kinds = {*lapps07_access_cost.KINDS, *lapps07_access_cost.PARTS}
    learned = {"prefetched, learned", "prefetched, learned, independent"}
    places = {(row["network"], row["stride"]) for row in report.rows}
    assert places == {(network, stride) for network in ("", "fdr-ib") for stride in (1, 64)}
    for network, stride in places:
        rows = [row for row in report.rows if (row["network"], row["stride"]) == (network, stride)]
        # To learn where each element is read is too slow where each is a message.
        assert {row["kind"] for row in rows} == (kinds - learned if network else kinds)
        # The ten types of 004's Table 4, each together and in two parts.
        assert sorted(row["type"] for row in rows if row["type"]) == sorted(3 * [*range(1, 11)])
    assert all(row["ns"] > 0 for row in report.rows)
    texts = [claim.text for claim in report.claims]
    assert sum(text.endswith("over remote, strides from 64") for text in texts) == 6
    assert {text.split(" over ")[1] for text in texts if text.startswith("remote")} == {
        *("bare get", "bare get, independent", "located get", "located get, independent")
    }
    assert (tmp_path / "lapps07_access_cost.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["lapps08_initialisation", "lapps09_update"])
def test_replicated_matrices(name, tmp_path):
    report = measure(name, QUIET, tmp_path / "replicated.json", tmp_path)
    assert {row["time"] for row in report.rows} == {"virtual", "wall", "mpi"}
    assert {row["side"] for row in report.rows} == set(lapps08_initialisation.SIDES)
    times = report.parameters["iterations"]
    assert (times == 1) == (name == "lapps08_initialisation")
    for row in report.rows:
        assert row["seconds"] > 0 and row["over_hand"] > 0
        # One slice of each other rank's, each time.
        updates = row["counters"]["prefetch_updates"]
        assert updates == (0 if row["side"] == "hand" else times * (row["ranks"] - 1))
    # Of the first time also what the paper has over hand.
    assert len(report.claims) == (10 if times == 1 else 9)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_stars_over_the_ratio_of_remote_accesses(tmp_path):
    report = measure("lapps10_ratio", QUIET, tmp_path / "ratio.json", tmp_path)
    small = pgas.find(report.rows, order=16)
    ratios = {row["radius"]: row["remote_ratio"] for row in small}
    # Rank 0 has 8 of 16 rows. A star of radius 1 has 3 places in a row and in a column, but 2 at the edges;
    # one is remote from each element of the last row. With 15 it has all 16, half of a column being remote.
    assert ratios == {1: round(16 / (8 * (16 * 3 - 2) + 16 * (8 * 3 - 1)), 4), 15: 0.25}
    assert {row["side"] for row in small} == set(lapps10_ratio.SMALL)
    assert all(row["seconds"] > 0 and row["over_uncached"] > 0 for row in small)
    large = pgas.find(report.rows, order=32)
    assert {(row["radius"], row["every"], row["remote_ratio"]) for row in large} == {
        *((1, 1, 0.0106), (31, 16, 0.25))
    }
    assert {row["side"] for row in pgas.find(large, radius=31)} == set(lapps10_ratio.LARGEST)
    assert {row["network"] for row in large} == {"fdr-ib virtual", "aries virtual"}
    assert all(row["speed_up"] == 1 for row in report.rows if row["side"] == "base")
    texts = [claim.text for claim in report.claims]
    assert len(texts) == 2 * 2 * 2 + 2 and not any("no cache" in text for text in texts)
    assert sum("over base at a ratio of 25%" in text for text in texts) == 4
    assert sum("over base with 000's cache at a ratio of 25%" in text for text in texts) == 4


def test_stars_on_real_clocks(tmp_path):
    report = measure("lapps10_real", QUIET, tmp_path / "real.json", tmp_path)
    assert {row["time"] for row in report.rows} == {"wall", "mpi"}
    assert {row["radius"]: row["remote_ratio"] for row in report.rows}[15] == 0.25
    assert {row["side"] for row in report.rows} == set(lapps10_ratio.SMALL)
    assert len(report.findings) == 2 * 2 and len(report.claims) == 2 * 4


def test_programs_in_versions(tmp_path):
    report = measure("lapps11_programs", QUIET, tmp_path / "versions.json", tmp_path)
    for kernel in lapps11_programs.KERNELS:
        rows = pgas.find(report.rows, program=kernel.name)
        assert {row["time"] for row in rows} == {"virtual", "wall", "mpi"}
        assert {row["side"] for row in rows} == set(kernel.sides())
        assert report.parameters[f"{kernel.name}_work_ns"] > 0
        virtual = pgas.find(rows, time="virtual")
        assert {row["network"] for row in virtual} == {"fdr-ib virtual", "aries virtual"}
        places = {(row["scaling"], row["network"], row["ranks"]) for row in rows}
        whole = sum(scaling != "long" for scaling, *_ in places)
        # More ranks than cores are in virtual time alone.
        assert {row["ranks"] for row in rows if row["time"] != "virtual"} == {2}
        assert len(rows) == whole * len(kernel.sides()) + 2 * len(kernel.prefetched_sides())
        assert len(places) - whole == 2
        claims = [claim for claim in report.claims if claim.text.startswith(kernel.name)]
        assert len(claims) == (9 if kernel.by_indices else 3)
        sides = {each.what.split(", ")[1].split()[0] for each in report.findings if kernel.name in each.what}
        assert sides >= {"ac", "ac-sd", "mc", "mc-sd", "hand"}
        for base in ("base", "base, no cache"):
            over = [each for each in report.findings if each.what.endswith(f" over {base}")]
            assert {each.what.split()[0] for each in over} == {each.name for each in versions.KERNELS}
        for row in pgas.find(virtual, scaling="strong"):
            prefetches = row["side"] not in ("base, no cache", "base", "hand", "gather")
            assert (row["counters"]["prefetch_updates"] > 0) == (prefetches and row["ranks"] > 1)
            assert row["seconds"] > 0 and row["over_hand"] > 0
    assert (tmp_path / "lapps11_programs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name, tmp_path):
    kernel = FIGURES[name]
    report = measure(name, QUIET, tmp_path / "figure.json", tmp_path)
    assert report.parameters[f"{kernel.name}_work_ns"] > 0
    assert {row["network"] for row in report.rows} == {"fdr-ib virtual", "aries virtual"}
    for row in report.rows:
        assert row["seconds"] > 0 and row["over_base"] > 0 and row["over_hand"] > 0
        assert ("over_uncached" in row) == (row["scaling"] == "small")
    small = {row["side"] for row in pgas.find(report.rows, scaling="small")}
    assert small == {*kernel.sides()} - {"observed"}
    for scaling in ("strong", "weak"):
        there = pgas.find(report.rows, scaling=scaling)
        assert {row["side"] for row in there} == small - {"base, no cache"}
        assert {row["ranks"] for row in there} <= {1, 4}
    # Each claim is about the paper's base, but those about what is by hand.
    over_base = [claim for claim in report.claims if claim.text.endswith(" over base")]
    assert len(over_base) == sum(map(len, kernel.faster.values()))
    assert all("over base, no cache" in claim.detail for claim in over_base)
    assert len(report.claims) == len(over_base) + 2
    for base in ("base", "base, no cache"):
        assert any(finding.what.endswith(f"mc over {base}") for finding in report.findings)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_heat_to_convergence(tmp_path):
    report = measure("lapps12_convergence", QUIET, tmp_path / "heat.json", tmp_path)
    assert {(row["network"], row["side"]) for row in report.rows} == {
        (f"{network} virtual", side)
        for network in versions.NETWORKS
        for side in ("base", "ac-sd", "mc-sd", "hand")
    }
    # 8 cells change by at most 10^-5 after that many steps, in each version.
    assert len({(row["steps"], row["checksum"]) for row in report.rows}) == 1
    assert all(row["steps"] > 10 and row["over_hand"] > 0 for row in report.rows)
    assert len(report.claims) == 2 * 2


def test_figures_have_the_papers_sizes():
    sizes = {kernel.name: kernel.arguments(kernel.figure, figure=True) for kernel in versions.KERNELS}
    assert sizes["sobel"] == ["--rows", 20000, "--columns", 20000]
    assert sizes["heat"][:2] == ["--cells", 400]
    assert sizes["transpose"][:2] == ["--order", 8192]
    assert sizes["sparse"][:2] == ["--log-size", 10]
    # What is not has a note.
    assert sizes["dgemm"] == ["--order", 2048]
    (dgemm,) = (figure for figure in papers.PAPERS["004"] if figure.benchmark == "lapps13_dgemm")
    assert "2,048" in dgemm.size
    for figure in papers.PAPERS["004"]:
        assert not figure.benchmark or callable(module(figure.benchmark).run)


def test_sizes_of_the_same_work_for_each_rank():
    assert [versions.TRANSPOSE.grown(8192, ranks / 32) for ranks in (2, 8, 32)] == [2048, 4096, 8192]
    assert versions.HEAT.grown(400, 1 / 8) == 200
    assert [versions.SPARSE.grown(10, ranks / 32) for ranks in (1, 2, 8, 16, 32)] == [0, 8, 9, 0, 10]
    assert [versions.SPARSE.grown(6, ranks) for ranks in (1, 2, 4)] == [6, 0, 7]


def test_runs_in_virtual_time_keep_to_a_core():
    before = os.sched_getaffinity(0)
    seen = []

    def see() -> int:
        # What a run would inherit.
        (core,) = os.sched_getaffinity(0)
        seen.append((core, threading.get_ident()))
        return core

    results = harness.on_all_cores(dict.fromkeys(range(8), see), QUIET, "cores")
    assert list(results) == list(range(8)) and set(results.values()) <= before
    assert os.sched_getaffinity(0) == before
    with harness.on_core(min(before)):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


def test_a_run_that_fails_on_one_of_the_cores():
    def fail() -> int:
        raise harness.BenchError("the reason")

    with pytest.raises(harness.BenchError, match="the reason"):
        harness.on_all_cores({"good": lambda: 1, "bad": fail}, QUIET, "cores")
    assert harness.on_all_cores({"good": lambda: 1}, QUIET, "cores") == {"good": 1}
