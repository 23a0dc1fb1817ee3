# SPDX-License-Identifier: Apache-2.0
"""The page docs/papers.md: each figure and table of the papers, and what nearfetch has of it."""

from __future__ import annotations

import os.path
from typing import Any, Callable, Mapping, Sequence

from bench.figures import PAPERS, Figure
from bench.report import CALIBRATED

Document = Mapping[str, Any]
"""A JSON file of a benchmark, as Report.to_json has it."""
Showing = Callable[[Sequence[float], str], str]
"""A measured interval and its unit, as text."""


INTRODUCTION = """\
# What the papers have, and what nearfetch has

Made by `./nf results` from the files in [results](results/). Edit `bench/figures`, not this page.

Each figure and table of the three papers has a row. *Size* says whether the size is the paper's, or why not.
A value in bold falls short of what its benchmark claims. Behind it is the claim, where, and what bounds it.
Each claim of a benchmark that falls short is in its row, or in the nearest of its rows.
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
    ours = figure.note
    if figure.benchmark:
        document = documents.get(figure.benchmark, {"claims": [], "findings": []})
        shown = _shown(figure, document)
        values = [_claimed(each, showing) if "text" in each else _found(each, showing) for each in shown]
        note = CALIBRATED if any(each.get("calibrated") for each in shown) else ""
        notes = " ".join(filter(None, [note, figure.note]))
        ours = ". ".join(filter(None, ["; ".join(values) or "not measured yet", notes]))
        short = [_claimed(claim, showing) for claim in document["claims"] if _is_short_beside(figure, claim)]
        if short:
            fall = "falls" if len(short) == 1 else "fall"
            ours = f"{ours.rstrip('.')}. {len(short)} more {fall} short: {'; '.join(short)}"
    return [figure.name, figure.about, figure.paper, ours, figure.size, command]


def _shown(figure: Figure, document: Document) -> list[Mapping[str, Any]]:
    """The claims that a row shows, and the findings where there is no claim."""
    found = []
    for beginning in figure.shown:
        claims = [each for each in document["claims"] if each["text"].startswith(beginning)]
        found += claims or [each for each in document["findings"] if each["what"].startswith(beginning)]
    return found


def _is_short_beside(figure: Figure, claim: Mapping[str, Any]) -> bool:
    """Whether a claim falls short, is not among the shown ones, and no other row is nearer to it."""
    text = claim["text"]
    if claim["holds"] or text.startswith(tuple(figure.shown)):
        return False
    rows = [row for figures in PAPERS.values() for row in figures if row.benchmark == figure.benchmark]
    return _nearness(figure, text) == max(_nearness(row, text) for row in rows)


def _nearness(figure: Figure, text: str) -> int:
    """The length of the beginning that a text has in common with what a row shows."""
    return max(len(os.path.commonprefix([text, shown])) for shown in figure.shown)


def _found(finding: Mapping[str, Any], showing: Showing) -> str:
    return f"{finding['what']}: {showing(finding['factor'], 'x')}"


def _claimed(claim: Mapping[str, Any], showing: Showing) -> str:
    reach, limit, *unit = claim["target"].split(maxsplit=2)
    value = showing(claim["measured"], unit[0] if unit else "")
    if claim["holds"]:
        return f"{claim['text']}: {value}"
    where = "; ".join(filter(None, [f"to reach {reach} {limit}", claim["detail"]]))
    return f"{claim['text']}: **{value}** ({where})"
