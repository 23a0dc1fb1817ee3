# SPDX-License-Identifier: Apache-2.0
"""Graph files as collections and tools write them: lcc finds in each what it finds in the plain edge list."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Callable, NamedTuple

import networkx as nx
import pytest
from conftest import Run, Starter

GRAPH = nx.relabel_nodes(nx.powerlaw_cluster_graph(60, 4, 0.6, seed=7), lambda v: 3 * v + 1)
"""The graph of all these files; its ids have gaps."""
EDGES = list(GRAPH.edges)
TIME = 1082008561


def table(separator: str, *rows: tuple[object, ...]) -> str:
    """Rows of values, as Python writes them."""
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def quoted_csv() -> str:
    """All fields in quotes, and a text with all that may stand in quotes."""
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows.writerow(["Source", "Target", "Type", "Id", "Label", "Weight"])
    rows.writerows([a, b, "Undirected", n, 'an "edge", one', 1.0] for n, (a, b) in enumerate(EDGES))
    return text.getvalue()


def indexed_csv() -> str:
    """As a data frame writes it: the first column counts rows and has no name."""
    return table(
        ",", ("", "source", "target", "rating"), *((n, a, b, n % 5) for n, (a, b) in enumerate(EDGES))
    )


def matrix_market(field: str, symmetry: str, values: str) -> str:
    """Scientists write the entries below the diagonal, where the others follow."""
    header = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n"
    size = max(GRAPH) + 1
    entries = "".join(f"{max(a, b) + 1} {min(a, b) + 1}{values}\n" for a, b in EDGES)
    return f"{header}% a comment\n{size} {size} {len(EDGES)}\n{entries}"


PLAIN = table(" ", *EDGES)
KONECT = table("\t", *((a, f"{b} 1", TIME + n) for n, (a, b) in enumerate(EDGES)))
FILES = {
    "snap header": "# Nodes: 60 Edges: 1\n# FromNodeId\tToNodeId\n" + table("\t", *EDGES),
    "snap signs": "# FromNodeId\tToNodeId\tSign\n"
    + table("\t", *((a, b, (-1) ** n) for n, (a, b) in enumerate(EDGES))),
    "konect": f"% sym unweighted\n% {len(EDGES)} 60 60\n" + table(" ", *((a, f"{b} ") for a, b in EDGES)),
    "konect weights": "% sym posweighted\n" + table(" ", *((a, b, 0.5 * a) for a, b in EDGES)),
    "konect signs": "% asym signed\n" + table(" ", *((a, b, -1) for a, b in EDGES)),
    "konect times": "% asym positive\n" + KONECT,
    "csv in quotes": quoted_csv(),
    "csv with an index": indexed_csv(),
    "gephi": table(",", ("Source", "Target", "Type", "Weight"), *((a, b, "Directed", 1.0) for a, b in EDGES)),
    "gephi, semicolons": table(";", ("Source", "Target"), *EDGES),
    "tabs": table("\t", ("source", "target", "label"), *((a, b, "two words") for a, b in EDGES)),
}
IGNORED = {
    "times": table(" ", *((a, b, TIME + n) for n, (a, b) in enumerate(EDGES))),
    "ratings and times": table(",", *((a, b, -3, f"{TIME}.7") for a, b in EDGES)),
    "networkx data": table(" ", *((a, b, "{'weight': 7}") for a, b in EDGES)),
}
MATRICES = {
    "skew-symmetric": matrix_market("real", "skew-symmetric", " -1.5"),
    "complex": matrix_market("complex", "general", " 0.5 -1e3"),
    "Hermitian": matrix_market("complex", "Hermitian", " 0 1"),
}


class Found(NamedTuple):
    """What lcc says of a graph."""

    results: dict[str, str]
    coefficients: str
    """The file of `--per-vertex`."""

    def same(self, other: Found) -> bool:
        """Whether vertices, edges, triangles and all coefficients are those of another run."""
        names = ("vertices", "edges", "triangles", "average", "self_loops_removed", "duplicates_removed")
        return all(self.results[name] == other.results[name] for name in names) and (
            self.coefficients == other.coefficients
        )


Find = Callable[..., Found]


@pytest.fixture
def find(lcc: Starter, tmp_path: Path) -> Find:
    """Runs lcc on a file with this content."""

    def run(content: str | bytes, *options: object) -> Found:
        path = tmp_path / "graph"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        coefficients = tmp_path / "coefficients"
        results = lcc.good(path, *options, "--per-vertex", coefficients, ranks=2).results
        return Found(results, coefficients.read_text())

    return run


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What lcc finds in the plain edge list, which networkx confirms."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "graph").write_text(PLAIN)
    arguments = (folder / "graph", "--per-vertex", folder / "coefficients")
    found = Found(Starter("lcc", folder).good(*arguments).results, (folder / "coefficients").read_text())
    lines = [line.split() for line in found.coefficients.splitlines()]
    assert {int(vertex): float(value) for vertex, value in lines} == nx.clustering(GRAPH)
    assert found.results["columns_ignored"] == "0"
    return found


@pytest.mark.parametrize("kind", FILES)
def test_recognised_files_are_the_plain_graph(find: Find, plain: Found, kind: str) -> None:
    assert find(FILES[kind]).same(plain)


@pytest.mark.parametrize("kind", IGNORED)
def test_columns_are_ignored_where_asked_for(find: Find, plain: Found, kind: str) -> None:
    assert find(IGNORED[kind], "--ignore-columns").same(plain)


def test_ignored_columns_are_counted(find: Find) -> None:
    assert find(FILES["konect times"]).results["columns_ignored"] == "2"
    assert find(IGNORED["times"], "--ignore-columns").results["columns_ignored"] == "1"


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_the_plain_graph(find: Find, plain: Found, kind: str) -> None:
    found = find(MATRICES[kind])
    # A matrix has a vertex for each row.
    assert int(found.results["vertices"]) == max(GRAPH) + 1
    with_edges = [line for line in found.coefficients.splitlines() if int(line.split()[0]) in GRAPH]
    assert with_edges == plain.coefficients.splitlines()
    for name in ("edges", "triangles"):
        assert found.results[name] == plain.results[name]


def tar(mode: str, files: dict[str, str]) -> bytes:
    """A tar archive, its folders included."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for folder in sorted({path.rsplit("/", 1)[0] for path in files if "/" in path}):
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def zipped(files: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return data.getvalue()


MATRIX = matrix_market("pattern", "symmetric", "")
KONECT_FILES = {"n/README.n": "a network\n", "n/meta.n": "name: N\n", "n/out.n": FILES["konect times"]}
PACKED = {
    "gzip": gzip.compress(PLAIN.encode()),
    "bzip2": bz2.compress(PLAIN.encode()),
    "xz": lzma.compress(PLAIN.encode()),
    "tar": tar("w", {"edges.txt": PLAIN}),
    "tar.gz": tar("w:gz", {"g/edges.txt": PLAIN}),
    "tar.bz2 of KONECT": tar("w:bz2", KONECT_FILES),
    "tar.xz": tar("w:xz", {"./edges.txt": PLAIN}),
    "zip": zipped({"g/": "", "g/edges.csv": FILES["gephi"]}),
    "zip, stored": zipped({"edges.txt": PLAIN}, zipfile.ZIP_STORED),
    "zip of a Mac": zipped({"edges.txt": PLAIN, "__MACOSX/._edges.txt": "\0\5\26\7"}),
}


@pytest.mark.parametrize("kind", PACKED)
def test_packed_files_are_the_plain_graph(find: Find, plain: Found, kind: str) -> None:
    assert find(PACKED[kind]).same(plain)


def test_the_matrix_of_a_collection_is_read(find: Find, plain: Found) -> None:
    packed = tar("w:gz", {"G/G_names.txt": "one\n", "G/G.mtx": MATRIX, "G/G_coord.mtx": "x\n"})
    assert find(packed).results["triangles"] == plain.results["triangles"]


def test_a_file_of_an_archive_can_be_named(find: Find, plain: Found) -> None:
    files = {"g/edges.csv": FILES["gephi"], "g/target.csv": "id,name\n0,a\n", "g/README.txt": "text\n"}
    assert find(zipped(files), "--member", "edges.csv").same(plain)


def test_a_bipartite_network_is_read_after_what_its_message_says(
    lcc: Starter, find: Find, tmp_path: Path
) -> None:
    """Left and right vertices of the same number are two vertices, so there is no triangle."""
    path = tmp_path / "out.network"
    path.write_text(f"% bip unweighted\n% {len(EDGES)} 200 200\n{PLAIN}")
    program = lcc(path).stderr.split("tell them apart: awk '")[1].split("' FILE")[0].replace("N", "200")
    told_apart = subprocess.run(["awk", program, str(path)], capture_output=True, check=True).stdout
    found = find(told_apart).results
    left, right = ({edge[side] for edge in EDGES} for side in (0, 1))
    assert int(found["vertices"]) == len(left) + len(right)
    assert (found["edges"], found["triangles"]) == (str(len(EDGES)), "0")


REFUSED = {
    "times": (IGNORED["times"], f"{{path}}:1: unexpected text '{TIME}' in column 3 (an edge has two ids, "),
    "ratings": (
        IGNORED["ratings and times"],
        "{path}:1: unexpected text '-3' in column 3 (an edge has two ids, ",
    ),
    "bipartite": (
        "% bip unweighted\n" + PLAIN,
        "{path}:1: the network is bipartite (KONECT numbers its left and ",
    ),
    "dynamic": ("% sym dynamic\n" + KONECT, "{path}:1: the network is dynamic (a row of it adds an edge or "),
    "names": ("a,b,w\n0,1,1\n", "{path}:1: the header names 3 columns, and not which two have the ids ("),
    "line break": ('Source,Target,Label\n0,1,"a\nb"\n', "{path}:2: a quote is not closed (a field ends in "),
    "several files": (
        zipped({"a.csv": "0,1\n", "b.csv": "0,1\n"}),
        "{path}: the archive has 2 files ('a.csv', 'b.csv'): name the edge list by --member",
    ),
    "in an archive": (
        tar("w:bz2", {"n/out.n": "% sym unweighted\n1 x\n"}),
        "{path}:n/out.n:2: vertex id 'x' is not a whole number (only digits are allowed): ",
    ),
    "a cut archive": (PACKED["tar.bz2 of KONECT"][:600], "{path}: the archive cannot be read ("),
    "a cut xz file": (PACKED["xz"][:-40], "the archive cannot be read ("),
    "7z": (
        b"7z\xbc\xaf\x27\x1c\0\4",
        "{path}: the file is a 7z archive (edge lists and Matrix Market files are ",
    ),
    "a web page": ("<!DOCTYPE html>\n<html>gone</html>\n", "{path}: the file is XML or HTML ("),
    "rows and columns": (
        "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n",
        "{path}:2: the matrix is not square (2 rows, 3 columns)",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_others_are_refused_with_what_to_do(lcc: Starter, tmp_path: Path, kind: str) -> None:
    content, message = REFUSED[kind]
    path = tmp_path / "graph"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    run: Run = lcc(path, ranks=2)
    assert run.code == 2
    lines = [line for line in run.stderr.splitlines() if line.startswith("lcc: ")]
    assert len(lines) == 1
    assert message.format(path=path) in lines[0]
    assert lines[0].count("): ") == 1
