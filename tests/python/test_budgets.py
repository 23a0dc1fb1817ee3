# SPDX-License-Identifier: Apache-2.0
"""The check of the documents' budgets (tests/budgets.py) finds what is too long, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import budgets
import pytest
from conftest import ROOT


def sentence(words: int) -> str:
    return " ".join(["Words", *["word"] * (words - 1)]) + "."


def document(words: int) -> str:
    """Paragraphs of that many words together, in sentences of 10 words at most."""
    return "\n\n".join(sentence(min(10, words - begin)) for begin in range(0, words, 10)) + "\n"


def checked(folder: Path, name: str, text: str) -> Optional[str]:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return budgets.problems([path], folder)


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_a_sentence_that_is_too_long(tmp_path, name):
    text = f"# Title\n\nShort. {sentence(40)} Short again.\n"
    assert checked(tmp_path, name, text) is None
    problem = checked(tmp_path, name, text.replace("Words", "Many words"))
    assert problem is not None and problem.startswith(f"{name}:3: a sentence of 41 words")
    assert "divide 'Many words word word word word word word ...'" in problem


@pytest.mark.parametrize(
    ("name", "most"), [("ARCHITECTURE.md", 1200), ("docs/mpi.md", 1500), ("docs/consistency.md", 1500)]
)
def test_a_document_that_is_too_long(tmp_path, name, most):
    assert checked(tmp_path, name, document(most)) is None
    problem = checked(tmp_path, name, document(most + 1))
    assert problem == f"{name}:1: {most + 1} words (at most {most}): shorten or split it"


def test_a_readme_of_too_many_lines(tmp_path):
    assert checked(tmp_path, "README.md", "Line.\n" * 150) is None
    assert checked(tmp_path, "README.md", "Line.\n" * 151) == (
        "README.md:1: 151 lines (at most 150): shorten or split it"
    )


def test_other_documents_have_no_budget(tmp_path):
    for name in ("docs/results.md", "CHANGELOG.md", "data/README.md"):
        assert checked(tmp_path, name, sentence(2000)) is None
    assert budgets.problems([ROOT / "CMakeLists.txt"]) is None


def test_sentences_elsewhere_than_in_front_may_be_long(tmp_path):
    assert checked(tmp_path, "docs/mpi.md", sentence(41)) is None


def test_code_and_tables_are_not_counted(tmp_path):
    fence = f"```c\n{sentence(2000)}\n```\n"
    indented = f"    {sentence(2000)}\n"
    table = f"| a | b |\n|---|---|\n| {sentence(2000)} | c |\n"
    for code in (fence, indented, table, f"<!-- {sentence(2000)} -->\n"):
        text = f"One two.\n\n{code}\nThree `four five`, [six](https://seven.eight/nine).\n"
        assert budgets.words(text) == 6
        assert checked(tmp_path, "README.md", text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("E.g. TCP in Fig. 7 of Ferguson et al. They", ["E.g. TCP in Fig. 7 of Ferguson et al. They"]),
        ("Say i.e. Open MPI 4.1. Version 5.0 works.", ["Say i.e. Open MPI 4.1.", "Version 5.0 works."]),
        ("By D. Knuth. Next.", ["By D. Knuth.", "Next."]),
        ("It ends (here.) Or 'here.' There.", ["It ends (here.)", "Or 'here.'", "There."]),
        ("No end. lower case follows.", ["No end. lower case follows."]),
        ("Ranks, windows, etc. All of them.", ["Ranks, windows, etc.", "All of them."]),
        ("A colon: and a semicolon; one sentence.", ["A colon: and a semicolon; one sentence."]),
        ("It is off. nearfetch does nothing.", ["It is off.", "nearfetch does nothing."]),
        ("2 ranks. 4 ranks.", ["2 ranks.", "4 ranks."]),
    ],
)  # fmt: skip
def test_where_sentences_end(text, expected):
    assert budgets.sentences(text) == expected


def found(markdown: str) -> list[str]:
    return [
        end.replace(budgets._CODE, "")
        for passage in budgets.passages(markdown)
        for end in budgets.sentences(passage.text)
    ]


def test_inline_code_ends_no_sentence_and_may_begin_one():
    assert found("Run `./nf demo. Now!` first. `mode` decides.") == [
        "Run _/nf demo_ Now_ first.",
        "mode decides.",
    ]


def test_list_items_and_headings_are_sentences_of_their_own():
    text = "# Title\n\nIntroduction:\n\n- one\n  and more\n- two. Three\n\n  four\n\n1. five\n"
    assert found(text) == ["Title", "Introduction:", "one and more", "two.", "Three", "four", "five"]


def test_tables_have_no_sentences():
    assert found("Before\n\n| A. B. | C |\n|---|---|\n| D. | E |\n\nAfter") == ["Before", "After"]


def test_emphasis_and_links_are_read_through():
    assert found("A **bold. Word** and [a link. Here](x.md).") == ["A bold.", "Word and a link.", "Here."]
