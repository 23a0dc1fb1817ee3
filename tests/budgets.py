# SPDX-License-Identifier: Apache-2.0
"""The budgets of the documents: how long each may be, and a sentence of the two that people read first.

Only words of prose count, not those of code blocks, tables and HTML. docs/results.md and
docs/papers.md are generated: no budget.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
README_LINES = 150
ARCHITECTURE_WORDS = 1200
DOCUMENT_WORDS = 1500
SENTENCE_WORDS = 40
_GENERATED = ("results.md", "papers.md")

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_CODE = "\ue000"  # stands before inline code: a sentence may begin with it
_END = re.compile(rf"([.!?])[\"')\]]*\s+(?=[\"'(\[]*(?:[A-Z0-9{_CODE}]|nearfetch\b))")
_ABBREVIATION = re.compile(r"(?:^|[\s(\"'])(?:[Ee]\.g|[Ii]\.e|cf|vs|al|approx|Fig|Sec|No|Dr|[A-Z])\.$")
_WORD = re.compile(r"\S*\w\S*")


class Passage(NamedTuple):
    """Prose that stands together: a paragraph, a heading, or a paragraph of a list item."""

    line: int
    text: str


def passages(markdown: str) -> Iterator[Passage]:
    """The prose of a document, without tables and code blocks. Full stops in inline code are masked."""
    in_table = 0
    line = 1
    for token in _MARKDOWN.parse(markdown):
        in_table += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        if token.map is not None:
            line = token.map[0] + 1
        if token.type == "inline" and not in_table:
            yield Passage(line, "".join(_words_of(part) for part in token.children or ()))


def _words_of(token: Token) -> str:
    if token.type == "code_inline":
        return _CODE + re.sub(r"[.!?]", "_", token.content)
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "image") else ""


def sentences(passage: str) -> list[str]:
    """Its sentences. One ends before a capital, a figure, code or our name, but not after an abbreviation."""
    found = []
    begin = 0
    for end in _END.finditer(passage):
        if end[1] == "." and _ABBREVIATION.search(passage[begin : end.end(1)]):
            continue
        found.append(passage[begin : end.end()].strip())
        begin = end.end()
    found.append(passage[begin:].strip())
    return [sentence for sentence in found if sentence]


def count_words(text: str) -> int:
    """Words have a letter or a figure in them."""
    return len(_WORD.findall(text))


def words(markdown: str) -> int:
    """Words of prose in a document."""
    return sum(count_words(passage.text) for passage in passages(markdown))


def long_sentences(markdown: str, most: int = SENTENCE_WORDS) -> list[Passage]:
    """Its sentences of more than `most` words, and the lines where their paragraphs begin."""
    return [
        Passage(passage.line, sentence)
        for passage in passages(markdown)
        for sentence in sentences(passage.text)
        if count_words(sentence) > most
    ]


def problems(files: list[Path], root: Path = ROOT) -> Optional[str]:
    """What is over its budget among the documents of `files`; None if nothing is."""
    bad = []
    for path in files:
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
        is_front = name in ("README.md", "ARCHITECTURE.md")
        is_document = re.fullmatch(r"docs/[^/]+\.md", name) and path.name not in _GENERATED
        if not is_front and not is_document:
            continue
        text = path.read_text(encoding="utf-8")
        if name == "README.md":
            bad += _over(name, len(text.splitlines()), README_LINES, "lines")
        else:
            most = ARCHITECTURE_WORDS if is_front else DOCUMENT_WORDS
            bad += _over(name, words(text), most, "words")
        if is_front:
            bad += [
                f"{name}:{line}: a sentence of {count_words(sentence)} words (at most {SENTENCE_WORDS}): "
                f"divide '{' '.join(sentence.replace(_CODE, '').split()[:8])} ...'"
                for line, sentence in long_sentences(text)
            ]
    return "\n".join(bad) or None


def _over(name: str, count: int, most: int, unit: str) -> list[str]:
    return [f"{name}:1: {count} {unit} (at most {most}): shorten or split it"] if count > most else []
