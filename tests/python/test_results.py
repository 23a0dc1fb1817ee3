# SPDX-License-Identifier: Apache-2.0
"""Intervals and claims; what fails; and the page of results that is made of measurements."""

from __future__ import annotations

import dataclasses
import json
import platform
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

from bench import NAMES, apps, harness, module, papers, report, results
from bench.__main__ import main

QUIET = harness.Options(quick=True, shown=False)


def test_ratios_are_formed_pair_by_pair():
    ratios = report.Interval.of_ratios([10, 100, 1000], [10, 50, 250])
    assert ratios == (2, 1, 4)


def test_intervals_by_order_statistics():
    # Of 9 values the second and the eighth: of a coin's 9 throws at most one is heads in 10 of 512 cases,
    # and at most one is tails in as many: 3.9 %. With at most two it would be 18 %.
    assert report.Interval.of([3, 1, 2, 9, 8, 7, 4, 6, 5]) == (5, 2, 8)
    assert report.Interval.of(range(1, 16)) == (8, 4, 12)
    assert report.Interval.of(range(1, 21)) == (10.5, 6, 15)
    # 1 - 2 / 64 is above 95 %, 1 - 2 / 32 is not.
    assert report.Interval.of(range(1, 7)) == (3.5, 1, 6)
    assert report.FEWEST_SAMPLES == 6
    assert report.Interval.of([7.0]) == report.Interval.exactly(7.0) == (7, 7, 7)
    assert report.Interval(2, 1, 3).times(10) == (20, 10, 30)


def test_samples_are_enough_for_an_interval():
    assert (harness.Options().samples(7), QUIET.samples(7)) == (7, 1)
    with pytest.raises(AssertionError):
        harness.Options().samples(5)


def test_claims():
    claim = report.Claim
    assert claim.at_most("x", 20, 20.0, "ns").holds
    assert not claim.at_most("x", 20, 20.1, "ns").holds
    assert claim.at_least("x", 5, 5.0).holds
    assert not claim.at_least("x", 5, 4.9).holds
    assert claim.at_least("x", 5, 4.9, "times").target == ">= 5 times"


def test_a_claim_holds_where_all_of_its_interval_does():
    interval = report.Interval(1.0, 0.96, 1.04)
    assert not report.Claim.at_least("x", 0.97, interval).holds
    assert report.Claim.at_least("x", 0.96, interval).holds
    assert not report.Claim.at_most("x", 1.03, interval).holds
    assert report.Claim.at_most("x", 1.04, interval).holds
    # So it is the end of the interval that says which is the worst.
    others = [(interval, "wide"), (report.Interval(0.99, 0.98, 1.0), "low")]
    assert report.worst(report.Claim.at_least, others) == (interval, "wide")
    assert report.worst(report.Claim.at_most, others) == (interval, "wide")
    assert report.worst(report.Claim.at_least, others[1:]) == others[1]


def test_ours_is_compared_with_its_like_and_with_the_better_at_the_worst_place():
    seconds = {
        "plain": {16: 9, 32: 9},
        "fixed": {16: 2, 32: 3},
        "adaptive": {16: 2, 32: 2},
        "adaptive, read-ahead": {16: 1, 32: 1},
        "fixed, as-001": {16: 1, 32: 6},
        "adaptive, as-001": {16: 8, 32: 4},
    }
    rows = [
        {"strategy": name, "ranks": ranks, "seconds": value}
        for name, of_ranks in seconds.items()
        for ranks, value in of_ranks.items()
    ]
    claims = apps.as_001_claims(
        "time", rows, lambda row: [row["seconds"]], lambda row: f"{row['ranks']} ranks"
    )
    assert {claim.text: (claim.measured.median, claim.detail) for claim in claims} == {
        "time of fixed as-001 over fixed": (0.5, "16 ranks"),
        "time of adaptive as-001 over adaptive": (2, "32 ranks"),
        "time of the better as-001 over adaptive": (0.5, "16 ranks"),
        "time of adaptive as-001 over adaptive, read-ahead": (4, "32 ranks"),
        "time of the better as-001 over adaptive, read-ahead": (1, "16 ranks"),
    }
    assert [claim.holds for claim in claims] == [False, True, False, True, True]


def measured(claims) -> report.Report:
    return report.Report({"samples": 9}, [{"value": 1}], claims)


@pytest.mark.parametrize(("ratio", "status"), [(0.98, 0), (0.96, 1)])
def test_a_claim_that_fails_ends_with_status_1(monkeypatch, tmp_path, capsys, ratio, status):
    claims = [report.Claim.at_least("speed", 0.97, report.Interval(1, ratio, 1.1), "times")]
    monkeypatch.setattr(module("fig10_occupancy"), "run", lambda options: measured(claims))
    assert main(["fig10_occupancy", "--json", str(tmp_path), "--no-progress"]) == status
    assert ("bench: short: fig10_occupancy: speed" in capsys.readouterr().err) == (status == 1)
    (claim,) = json.loads((tmp_path / "fig10_occupancy.json").read_text(encoding="utf-8"))["claims"]
    assert claim["measured"] == [1, ratio, 1.1] and claim["holds"] == (status == 0)


def test_a_report_names_no_machine():
    said = json.dumps([report.machine(), report.commit()])
    assert platform.node() not in said and str(ROOT) not in said
    assert set(report.machine()["mpi"]) == {"Open MPI", "MPICH"}


def document(name: str, holds: bool = True, **changed: object) -> dict:
    """What ./nf bench writes, made by hand."""
    made = {
        "name": name,
        "command": f"./nf bench {name}",
        "quick": False,
        "commit": "0123456789abcdef",
        "machine": {
            "cpu": "Processor  1",
            "cores": 2,
            "memory_gib": 7.8,
            "system": "Linux",
            "python": "3.11.2",
            "mpi": {"Open MPI": "4.1.4", "MPICH": "none"},
        },
        "samples": 9,
        "findings": [
            {
                "what": "LCC",
                "without": [8.2, 8.1, 8.4],
                "measured": [0.034, 0.031, 0.039],
                "unit": "s",
                "factor": [241.0, 200.4, 1268.0],
            }
        ],
        "claims": [
            {
                "text": "a | b",
                "target": ">= 5 times",
                "measured": [4.0, 4.0, 4.0],
                "holds": holds,
                "detail": "worst",
            }
        ],
    }
    return {**made, **changed}


def write_results(folder, *documents: dict):
    for each in documents:
        (folder / f"{each['name']}.json").write_text(json.dumps(each), encoding="utf-8")
    return ["--folder", str(folder), "--page", str(folder / "page.md")]


PAGE = """\
# Results

Made by `./nf results` from the files in [results](results/). Edit those of `bench/`, not this page.

Measured on Processor 1, 2 cores, 7.8 GiB, Linux, Open MPI 4.1.4, Python 3.11.2.
Each section names its commit.

Each value is a median. Where it was measured in samples, its 95 % confidence interval follows in brackets.
The number of samples is fixed before. Sides that are compared are interleaved within one run. Factors are
formed pair by pair. A claim holds where all of its interval reaches the figure.
[benchmarks.md](benchmarks.md) says how each benchmark measures.

0 of 1 claims hold.

Not measured: `fig16_lcc_accesses`.

## Where it falls short

| claim | to reach | measured | holds | where | command |
| --- | --- | --- | --- | --- | --- |
| a \\| b | >= 5 times | 4 times | **no** | worst | `./nf bench fig15_lcc` |

## A title

A sentence.

Measured at commit `0123456789ab` in 1.5 minutes.

| what | without | with | factor | command |
| --- | --- | --- | --- | --- |
| LCC | 8.2 s (8.1 to 8.4) | 34 ms (31 to 39) | **241x (200 to 1,268)** | `./nf bench fig15_lcc` |

| claim | to reach | measured | holds | where | command |
| --- | --- | --- | --- | --- | --- |
| a \\| b | >= 5 times | 4 times | **no** | worst | `./nf bench fig15_lcc` |
"""


def test_page_is_made_of_files_and_descriptions(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "NAMES", ("fig15_lcc", "fig16_lcc_accesses"))
    described = SimpleNamespace(TITLE="A title", __doc__="The first line.\n\nA sentence.\n")
    monkeypatch.setattr(results, "module", lambda name: described)
    words = write_results(tmp_path, document("fig15_lcc", holds=False, seconds=90.0))
    assert results.main(words) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == PAGE


def test_what_is_calibrated_is_no_result():
    made = document("modes")
    for kind, name in (("claims", "text"), ("findings", "what")):
        (each,) = made[kind]
        made[kind].append({**each, name: "puts", "calibrated": True})
    results_of, *sections = results.page([made]).split("\n## ")
    assert "\n1 of 1 claims hold.\n1 more are calibrated: no results.\n" in results_of
    before, after = sections[-1].split(f"\n\n{report.CALIBRATED}\n\n")
    assert "| LCC |" in before and "| a \\| b |" in before and "| puts |" not in before
    assert after.count("| puts |") == 2 and "| yes | calibrated; worst |" in after
    figures = {
        "000": [papers.Figure("1", "", "", "", "modes", (shown,), "A note.") for shown in ("puts", "a")]
    }
    rows = rows_of_papers([made], figures)
    assert [row[3] for row in rows[2:]] == [
        f"puts: 4 times. {report.CALIBRATED} A note.",
        "a | b: 4 times. A note.",
    ]
    claim = report.Claim.at_least("x", 5, 4.9)
    assert not claim.calibrated and report.calibrated([claim]) == [
        dataclasses.replace(claim, calibrated=True)
    ]


def test_sections_stand_in_the_order_of_the_benchmarks(tmp_path):
    words = write_results(tmp_path, *map(document, reversed(NAMES)))
    assert results.main(words) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    places = [page.index(f"\n## {module(name).TITLE}\n") for name in NAMES]
    assert places == sorted(places)
    assert "Not measured" not in page and "Where it falls short" not in page
    assert f"{len(NAMES)} of {len(NAMES)} claims hold" in page
    assert results.main([*words, "--check"]) == 0


def test_sections_name_their_machine_where_there_are_several(tmp_path):
    other = {**document("x")["machine"], "cores": 4}
    words = write_results(tmp_path, document("modes"), document("nwchem", machine=other))
    assert results.main(words) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Measured on several machines; each section names its own." in page
    assert page.count(" on Processor 1, 4 cores, ") == 1
    assert len(re.findall(r"Measured at commit .* on .* cores", page)) == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"quick": True}, "nwchem.json is quick"),
        ({"commit": "feed-changed"}, "nwchem.json was measured at 'feed-changed'"),
        ({"commit": "unknown"}, "nwchem.json was measured at 'unknown'"),
    ],
)
def test_files_of_which_no_page_is_made(tmp_path, capsys, changed, said):
    words = write_results(tmp_path, document("modes"), document("nwchem", **changed))
    assert results.main(words) == 1
    assert re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "page.md").exists()


def test_files_that_are_no_results(tmp_path, capsys):
    words = write_results(tmp_path)
    assert results.main(words) == 1
    assert "no JSON files" in capsys.readouterr().err
    for text, said in (
        ("{", "cannot be read"),
        ("3", "cannot be read"),
        ("{}", "has no claims, command"),
        (json.dumps(document("nwchem")), "is of 'nwchem'"),
    ):
        (tmp_path / "modes.json").write_text(text, encoding="utf-8")
        assert results.main(words) == 1
        assert f"modes.json {said}" in capsys.readouterr().err


def test_claims_that_fail_and_pages_that_are_edited_fail_the_check(tmp_path, capsys):
    words = write_results(tmp_path, document("modes"), document("nwchem", holds=False))
    assert results.main(words) == 0
    assert results.main([*words, "--check"]) == 1
    assert "1 claims do not hold" in capsys.readouterr().err
    write_results(tmp_path, document("nwchem"))
    assert results.main([*words, "--check"]) == 1
    assert "page.md is another page" in capsys.readouterr().err
    assert results.main(words) == results.main([*words, "--check"]) == 0
    with (tmp_path / "page.md").open("a", encoding="utf-8") as page:
        page.write("by hand")
    assert results.main([*words, "--check"]) == 1


def test_the_page_of_the_source_tree_is_made_of_its_files():
    for path, text in results.pages(results.read(results.FOLDER), results.PAGE).items():
        assert path.read_text(encoding="utf-8") == text


def test_the_papers_page_shows_claims_and_findings_or_says_that_there_are_none():
    figures = {
        "000": (
            papers.Figure("Fig. 1", "a", "2x", "same", "modes", ("a | b",), "A note."),
            papers.Figure("Fig. 2", "b", "3x", "less", "modes", ("LC",)),
            papers.Figure("Fig. 3", "c", "4x", "same", "nwchem", ("a | b",)),
            papers.Figure("Fig. 4", "d", "a diagram", ""),
        )
    }
    value = "a | b: **4 times** (to reach >= 5; worst). A note."
    rows = rows_of_papers([document("modes", holds=False)], figures)
    assert rows[2:] == [
        ["Fig. 1", "a", "2x", value, "same", "`./nf bench modes`"],
        ["Fig. 2", "b", "3x", "LCC: 241x (200 to 1,268)", "less", "`./nf bench modes`"],
        ["Fig. 3", "c", "4x", "not measured yet", "same", "`./nf bench nwchem`"],
        ["Fig. 4", "d", "a diagram", "", "", ""],
    ]


def rows_of_papers(documents: list, figures: dict) -> list[list[str]]:
    """The cells of papers.md, by row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers, "PAPERS", figures)
        text = results.pages(documents, Path("page.md"))[Path("papers.md")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in cells]


def test_claims_that_fall_short_are_in_the_nearest_rows():
    made = document("modes", holds=False)
    (claim,) = made["claims"]
    made["claims"] = [{**claim, "text": text} for text in ("copy, wall", "puts, wall", "puts, mpi", "gets")]
    made["claims"] += [{**claim, "text": "copy, mpi", "holds": True}]
    figures = {
        "000": [
            papers.Figure(name, "", "", "", "modes", (shown,))
            for name, shown in (("1", "copy, virtual"), ("2", "copy, hints"), ("3", "puts, w"), ("4", "gets"))
        ]
    }
    found = {row[0]: row[3] for row in rows_of_papers([made], figures)}
    value = "**4 times** (to reach >= 5; worst)"
    assert found["1"] == found["2"] == f"not measured yet. 1 more falls short: copy, wall: {value}"
    assert found["3"] == f"puts, wall: {value}. 1 more falls short: puts, mpi: {value}"
    assert found["4"] == f"gets: {value}"


def test_no_claim_of_a_figure_falls_short_in_silence():
    documents = results.read(results.FOLDER)
    rows = rows_of_papers(documents, papers.PAPERS)
    for each in documents:
        ours = [row[3] for row in rows if row[5] == f"`{each['command']}`"]
        for claim in each["claims"] if ours else ():
            assert claim["holds"] or any(f"{claim['text']}: **" in cell for cell in ours), claim["text"]
    shown = {figure.benchmark for figures in papers.PAPERS.values() for figure in figures}
    assert {row[5] for row in rows} >= {f"`./nf bench {name}`" for name in shown - {""}}


def test_no_benchmark_of_a_figure_takes_longer_than_20_minutes():
    of_figures = {figure.benchmark for figures in papers.PAPERS.values() for figure in figures}
    took = {each["name"]: each["seconds"] for each in results.read(results.FOLDER) if "seconds" in each}
    assert not {name: seconds for name, seconds in took.items() if name in of_figures and seconds > 20 * 60}


def test_no_figure_of_the_papers_is_missing():
    named = {paper: " ".join(figure.name for figure in figures) for paper, figures in papers.PAPERS.items()}
    for paper, last in (("000", 3), ("001", 18), ("004", 16)):
        numbers = set(map(int, re.findall(r"\d+", named[paper].replace("Table", "").replace("Tables", ""))))
        assert numbers >= set(range(1, last + 1))
    for figures in papers.PAPERS.values():
        for figure in figures:
            assert not figure.benchmark or figure.benchmark in NAMES
            # What is not shown has a reason.
            assert figure.benchmark or figure.note or "yet" in figure.size or not figure.size
