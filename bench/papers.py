# SPDX-License-Identifier: Apache-2.0
"""The page docs/papers.md: each figure and table of the papers, and what nearfetch has of it."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from bench.figures import PAPERS, Figure

Document = Mapping[str, Any]
"""A JSON file of a benchmark, as Report.to_json has it."""
Showing = Callable[[Sequence[float], str], str]
"""A measured interval and its unit, as text."""


INTRODUCTION = """\
# What the papers have, and what nearfetch has

Made by `./nf results` from the files in [results](results/). Edit `bench/figures.py`, not this page.

Each figure and table of the three papers has a row. *Size* says whether the size is the paper's, or why not.
A value in bold falls short of what its benchmark claims; behind it is where, and what bounds it.
[results.md](results.md) has all values, and says at which commits and on which machine they were measured.
"""

TITLES: Mapping[str, str] = {
    "000": "Ferguson and Buettner, *Caching Puts and Gets in a PGAS Language Runtime*, 2015.",
    "001": "Di Girolamo, Vella and Hoefler, *Transparent Caching for RMA Systems*, 2017.",
    "004": "Kayraklioglu, Ferguson and El-Ghazawi, *LAPPS*, 2018.",
}

COLUMNS = ("figure", "about", "the paper", "nearfetch", "size", "benchmark")


def page(documents: Sequence[Document], showing: Showing, table: Callable[..., str]) -> str:
    """The text of docs/papers.md."""
    by_name = {document["name"]: document for document in documents}
    text = INTRODUCTION
    for paper, figures in PAPERS.items():
        text += f"\n## Paper {paper}\n\n{TITLES[paper]}\n\n" + table(
            COLUMNS, (_line(each, by_name, showing) for each in figures)
        )
    return text


def _line(figure: Figure, documents: Mapping[str, Document], showing: Showing) -> list[str]:
    command = f"`./nf bench {figure.benchmark}`" if figure.benchmark else ""
    values = "; ".join(_values(figure, documents, showing))
    ours = ". ".join(filter(None, [values, figure.note]))
    return [figure.name, figure.about, figure.paper, ours, figure.size, command]


def _values(figure: Figure, documents: Mapping[str, Document], showing: Showing) -> list[str]:
    """Each value that is shown, with what it is of."""
    if not figure.benchmark:
        return []
    document = documents.get(figure.benchmark, {"claims": [], "findings": []})
    found = []
    for beginning in figure.shown:
        claims = [each for each in document["claims"] if each["text"].startswith(beginning)]
        found += [_claimed(claim, showing) for claim in claims] or [
            f"{finding['what']}: {showing(finding['factor'], 'x')}"
            for finding in document["findings"]
            if finding["what"].startswith(beginning)
        ]
    return found or ["not measured yet"]


def _claimed(claim: Mapping[str, Any], showing: Showing) -> str:
    unit = claim["target"].split(maxsplit=2)[2:]
    value = showing(claim["measured"], unit[0] if unit else "")
    if claim["holds"]:
        return f"{claim['text']}: {value}"
    return f"{claim['text']}: **{value}**" + (f" ({claim['detail']})" if claim["detail"] else "")
