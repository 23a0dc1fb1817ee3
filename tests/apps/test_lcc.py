# SPDX-License-Identifier: Apache-2.0
"""lcc against networkx, on the real graph and on small random ones, and its behaviour on bad input."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Callable, NamedTuple

import networkx as nx
import pytest
from conftest import Run, Starter


class Expected(NamedTuple):
    """What networkx finds."""

    average: float
    triangles: int
    vertices: int
    edges: int


def expected_of(graph: nx.Graph) -> Expected:
    """networkx's results for `graph`.

    The average is computed from its triangles. average_clustering, which has to agree for small graphs,
    takes half a minute for the real one.
    """
    triangles = nx.triangles(graph)
    pairs = {vertex: degree * (degree - 1) for vertex, degree in graph.degree}
    average = sum(2 * triangles[v] / pairs[v] for v in graph if pairs[v]) / len(graph)
    return Expected(average, sum(triangles.values()) // 3, len(graph), graph.number_of_edges())


@pytest.fixture(scope="session")
def real_expected(real_graph: Path) -> Expected:
    """networkx on the real graph."""
    with gzip.open(real_graph, "rt") as file:
        next(file)
        graph = nx.parse_edgelist(file, delimiter=",", nodetype=int)
    return expected_of(graph)


def assert_agrees(results: dict[str, str], expected: Expected) -> None:
    """Counts agree exactly; averages up to the rounding of networkx's plain sum."""
    assert int(results["triangles"]) == expected.triangles
    assert int(results["vertices"]) == expected.vertices
    assert int(results["edges"]) == expected.edges
    assert float(results["average"]) == pytest.approx(expected.average, rel=1e-12, abs=0)


@pytest.fixture(scope="module")
def real_run(real_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Run]:
    """A run on the real graph by family and ranks, each done once."""
    lcc = Starter("lcc", tmp_path_factory.mktemp("real"))
    return lru_cache(maxsize=None)(lambda family, ranks: lcc.good(real_graph, family=family, ranks=ranks))


def test_real_graph_agrees_with_networkx_bit_for_bit_on_any_ranks(
    real_run: Callable[[str, int], Run], any_family: str, real_expected: Expected
) -> None:
    averages = set()
    for ranks in (1, 2, 4):
        results = real_run(any_family, ranks).results
        assert_agrees(results, real_expected)
        averages.add(results["average"])
    # Every family is compared with this value.
    assert averages == {"0.16753704480107581"}


def test_real_graph_costs_the_known_gets(real_run: Callable[[str, int], Run], family: str) -> None:
    run = real_run(family, 4)
    assert run.json["remote_gets_per_rank"][0] == 105067
    assert run.json["remote_vertices_per_rank"][0] == 19669
    assert run.json["remote_bytes_per_rank"][0] == 232981204
    assert sum(run.json["remote_gets_per_rank"]) == int(run.results["remote_gets"]) == run.json["remote_gets"]
    assert real_run(family, 1).results["remote_gets"] == "0"


WRITERS = {
    "csv": lambda graph: "id_1,id_2\n" + "".join(f"{a},{b}\n" for a, b in graph.edges),
    "snap": lambda graph: "# a comment\n" + "".join(f"{b}\t{a}\n" for a, b in graph.edges),
    "mm": lambda graph: (
        "%%MatrixMarket matrix coordinate pattern symmetric\n"
        + f"{len(graph)} {len(graph)} {graph.number_of_edges()}\n"
        + "".join(f"{max(a, b) + 1} {min(a, b) + 1}\n" for a, b in graph.edges)
    ),
}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_graphs_agree_per_vertex(lcc: Starter, tmp_path: Path, form: str, seed: int) -> None:
    graph = nx.powerlaw_cluster_graph(120, 4, 0.6, seed=seed)
    path = tmp_path / "graph"
    text = WRITERS[form](graph).encode()
    path.write_bytes(gzip.compress(text) if seed == 2 else text)
    coefficients = tmp_path / "coefficients"
    expected = expected_of(graph)
    assert expected.average == pytest.approx(nx.average_clustering(graph), rel=1e-12, abs=0)
    for ranks in (1, 3):
        results = lcc.good(path, "--per-vertex", coefficients, ranks=ranks).results
        assert_agrees(results, expected)
        found = [line.split() for line in coefficients.read_text().splitlines()]
        assert {int(v): float(c) for v, c in found} == nx.clustering(graph)


def test_ids_may_have_gaps(lcc: Starter, tmp_path: Path) -> None:
    graph = nx.relabel_nodes(nx.gnm_random_graph(30, 140, seed=3), lambda v: 1000003 * v + 17)
    path = tmp_path / "graph.csv"
    path.write_text(WRITERS["csv"](graph))
    coefficients = tmp_path / "coefficients"
    assert_agrees(lcc.good(path, "--per-vertex", coefficients, ranks=2).results, expected_of(graph))
    found = [line.split() for line in coefficients.read_text().splitlines()]
    assert {int(v): float(c) for v, c in found} == nx.clustering(graph)


def test_vertices_without_an_edge_count_when_asked_for(lcc: Starter, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_text("0 1\n1 2\n2 0\n")
    assert lcc.good(path).results["average"] == "1"
    assert lcc.good(path, "--vertices", 4, ranks=2).results["average"] == "0.75"


@pytest.mark.parametrize("ranks", [3, 4])
def test_more_ranks_than_vertices(lcc: Starter, family: str, tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "graph"
    path.write_text("0 1\n1 1\n1 0\n")
    results = lcc.good(path, family=family, ranks=ranks).results
    assert (results["average"], results["triangles"], results["remote_gets"]) == ("0", "0", "2")
    assert (results["self_loops_removed"], results["duplicates_removed"]) == ("1", "1")


def test_rmat_is_the_same_on_any_ranks(lcc: Starter, family: str) -> None:
    runs = [
        lcc.good("--rmat-scale", 8, "--edge-factor", 8, "--seed", 5, family=family, ranks=ranks).results
        for ranks in (1, 2, 4)
    ]
    assert len({(run["average"], run["triangles"], run["edges"]) for run in runs}) == 1
    assert int(runs[0]["triangles"]) > 0
    assert int(runs[0]["remote_gets"]) == 0 < int(runs[1]["remote_gets"]) < int(runs[2]["remote_gets"])


def test_windows_can_be_created_and_get_infos(lcc: Starter, family: str) -> None:
    arguments = ["--rmat-scale", 6, "--edge-factor", 4]
    plain = lcc.good(*arguments, family=family, ranks=2).results
    other = lcc.good(
        *arguments, "--window", "create", "--info", "a_key=some=value", family=family, ranks=2
    ).results
    assert (plain["average"], plain["remote_gets"]) == (other["average"], other["remote_gets"])


def test_part_of_the_vertices(lcc: Starter) -> None:
    arguments = ["--rmat-scale", 7, "--edge-factor", 8]
    whole = lcc.good(*arguments, ranks=2).results
    part = lcc.good(*arguments, "--max-vertices", 10, ranks=2).results
    assert part["processed_vertices"] == "20"
    assert "triangles" not in part
    assert 0 < int(part["remote_gets"]) < int(whole["remote_gets"])
    assert 0 < int(part["closed_pairs"]) < int(whole["closed_pairs"])
    all_of_them = lcc.good(*arguments, "--max-vertices", 64, ranks=2).results
    assert all_of_them["triangles"] == whole["triangles"]


def test_part_of_the_ranks(lcc: Starter) -> None:
    arguments = ["--rmat-scale", 7, "--edge-factor", 8, "--shuffle"]
    whole = lcc.good(*arguments, ranks=2)
    part = lcc.good(*arguments, "--max-ranks", 1, ranks=2)
    assert part.results["processed_vertices"] == "64"
    assert "triangles" not in part.results
    assert part.json["remote_gets_per_rank"] == [whole.json["remote_gets_per_rank"][0], 0]
    assert 0 < int(part.results["closed_pairs"]) < int(whole.results["closed_pairs"])
    assert lcc.good(*arguments, "--max-ranks", 5, ranks=2).results["triangles"] == whole.results["triangles"]
    none = lcc.good(*arguments, "--max-ranks", 0, ranks=2).results
    assert (none["processed_vertices"], none["average"]) == ("0", "0")


def test_repetitions_are_timed_one_by_one(lcc: Starter) -> None:
    once = lcc.good("--rmat-scale", 6, ranks=2)
    thrice = lcc.good("--rmat-scale", 6, "--repeat", 3, ranks=2)
    assert len(thrice.json["communication_seconds_per_repetition"]) == 3
    assert len(thrice.json["total_seconds_per_repetition"]) == 3
    # Results are of one repetition.
    assert thrice.results["average"] == once.results["average"]
    assert thrice.results["remote_gets"] == once.results["remote_gets"]


def test_progress_goes_to_standard_error(lcc: Starter) -> None:
    run = lcc.good("--rmat-scale", 6, "--progress", ranks=2)
    assert "100%" in run.stderr
    assert "%" not in lcc.good("--rmat-scale", 6, ranks=2).stderr


@pytest.mark.parametrize("ranks", [1, 4])
def test_bad_input_ends_all_ranks_with_one_message(
    lcc: Starter, family: str, tmp_path: Path, ranks: int
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("0,1\n1,x\n")
    run = lcc(path, family=family, ranks=ranks)
    assert run.code == 2
    assert run.stderr.count(f"lcc: {path}:2: vertex id 'x' is not a whole number (") == 1
    assert "MPI_ABORT" not in run.stderr


def test_truncated_gzip(lcc: Starter, tmp_path: Path, real_graph: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(real_graph.read_bytes()[:500000])
    run = lcc(path, ranks=2)
    assert run.code == 2
    assert "the gzip data ends early (the file is truncated): fetch it again" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one graph is needed ("),
        (["/nonexistent.csv"], "/nonexistent.csv: cannot be opened (No such file or directory): "),
        (["--rmat-scale", "40"], "--rmat-scale"),
        (["--rmat-scale", "4", "--json", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
        (["--rmat-scale", "4", "--per-vertex", "/nonexistent/file"], "/nonexistent/file cannot be written ("),
        (["--rmat-scale", "4", "--window", "shared"], "--window"),
    ],
)
def test_bad_use(lcc: Starter, arguments: list[str], message: str) -> None:
    run = lcc(*arguments, ranks=2)
    assert run.code == 2
    lines = [line for line in run.stderr.splitlines() if line.startswith("lcc: ")]
    assert len(lines) == 1
    assert message in lines[0]


def test_infos_have_the_length_that_the_mpi_library_allows(lcc: Starter, family: str) -> None:
    run = lcc("--rmat-scale", 4, "--info", "k" * 600 + "=v", family=family, ranks=2)
    assert run.code == 2
    assert run.stderr.count("is too long (this MPI library allows") == 1
