# SPDX-License-Identifier: Apache-2.0
"""The command `./nf results`: makes docs/results.md and docs/papers.md from the JSON files in docs/results.

The sentences of the pages are the descriptions of the benchmarks' modules, and those of bench/figures; the
numbers are in the files.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence

from bench import NAMES, ROOT, module, papers
from bench.harness import shown_path
from bench.report import CALIBRATED

FOLDER = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results.md"

Document = Mapping[str, Any]
"""A JSON file of a benchmark, as Report.to_json has it."""

INTRODUCTION = """\
# Results

Made by `./nf results` from the files in [results](results/). Edit those of `bench/`, not this page.

Measured on {where}.
Each section names its commit.

Each value is a median. Where it was measured in samples, its 95 % confidence interval follows in brackets.
The number of samples is fixed before. Sides that are compared are interleaved within one run. Factors are
formed pair by pair. A claim holds where all of its interval reaches the figure.
[benchmarks.md](benchmarks.md) says how each benchmark measures.

{held} of {all} claims hold.
"""

FINDINGS = ("what", "without", "with", "factor", "command")
CLAIMS = ("claim", "to reach", "measured", "holds", "where", "command")


class ResultsError(Exception):
    """Files of which no page can be made; the text says which and why."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command line; 1 where no page can be made, or --check finds something."""
    parser = argparse.ArgumentParser(prog="nf results", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the JSON files (default: docs/results)")
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="what is written, beside papers.md (default: docs/results.md)"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing: fail where a claim does, or a page is another one",
    )
    options = parser.parse_args(arguments)
    try:
        documents = read(options.folder)
        texts = pages(documents, options.page)
        if options.check:
            _require_as_claimed(documents)
            for path, text in texts.items():
                if not path.is_file() or path.read_text(encoding="utf-8") != text:
                    raise ResultsError(
                        f"{shown_path(path)} is another page (edited, or old): run ./nf results"
                    )
    except ResultsError as error:
        print(f"nf results: {error}", file=sys.stderr)
        return 1
    if not options.check:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    print(f"{shown_path(options.page)}: {len(documents)} of {len(NAMES)} benchmarks")
    return 0


def _require_as_claimed(documents: Sequence[Document]) -> None:
    short = [
        f"\n  {document['name']}: {claim['text']}"
        for document in documents
        for claim in document["claims"]
        if not claim["holds"]
    ]
    if short:
        raise ResultsError(
            f"{len(short)} claims do not hold (see the page): repair what they are about{''.join(short)}"
        )


def read(folder: Path) -> list[Document]:
    """The documents in a folder, in the benchmarks' order.

    Raises ResultsError where there are none, or one is no full measurement of a commit.
    """
    documents = {path.name: _document(path) for path in sorted(folder.glob("*.json"))}
    if not documents:
        raise ResultsError(
            f"no JSON files in {shown_path(folder)} (nothing to show): run ./nf bench all --json "
            f"{shown_path(folder)}"
        )
    for name, document in documents.items():
        if document["name"] not in NAMES or name != f"{document['name']}.json":
            raise ResultsError(
                f"{name} is of '{document['name']}' (no benchmark that is named so): remove it"
            )
        if document["quick"]:
            raise ResultsError(f"{name} is quick (no measurement): measure it without --quick")
        if document["commit"] == "unknown" or document["commit"].endswith("-changed"):
            raise ResultsError(
                f"{name} was measured at '{document['commit']}' (not a commit): commit, and measure again"
            )
    return sorted(documents.values(), key=lambda document: NAMES.index(document["name"]))


def _document(path: Path) -> Document:
    wanted = {"name", "command", "quick", "commit", "machine", "samples", "findings", "claims"}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        missing = wanted - set(document)
    except (ValueError, TypeError) as error:
        raise ResultsError(f"{path.name} cannot be read ({error}): measure it again") from error
    if missing:
        raise ResultsError(
            f"{path.name} has no {', '.join(sorted(missing))} (another version's?): measure it again"
        )
    return document


def pages(documents: Sequence[Document], path: Path) -> dict[Path, str]:
    """The texts of the page at `path`, and of papers.md beside it."""
    return {path: page(documents), path.with_name("papers.md"): papers.page(documents, _measured, _table)}


def page(documents: Sequence[Document]) -> str:
    """The text of docs/results.md."""
    claims = [(document, claim) for document in documents for claim in document["claims"]]
    short = [(document, claim) for document, claim in claims if not claim["holds"]]
    counted = [claim["holds"] for _, claim in claims if not claim.get("calibrated")]
    machines = {_machine(document["machine"]) for document in documents}
    several = len(machines) > 1
    text = INTRODUCTION.format(
        where="several machines; each section names its own" if several else machines.pop(),
        held=sum(counted),
        all=len(counted),
    )
    if len(counted) < len(claims):
        text += f"{len(claims) - len(counted)} more are calibrated: no results.\n"
    missing = [name for name in NAMES if name not in {document["name"] for document in documents}]
    if missing:
        text += f"\nNot measured: {', '.join(f'`{name}`' for name in missing)}.\n"
    if short:
        text += "\n## Where it falls short\n\n" + _table(CLAIMS, (_claim(*each) for each in short))
    return text + "".join(_section(document, names_machine=several) for document in documents)


def _section(document: Document, names_machine: bool) -> str:
    described = module(document["name"])
    # The first line says what the title says.
    description = (described.__doc__ or "").split("\n\n", 1)[-1].strip()
    took = f" in {_number(document['seconds'] / 60)} minutes" if "seconds" in document else ""
    where = f" on {_machine(document['machine'])}" if names_machine else ""
    measured = f"Measured at commit `{document['commit'][:12]}`{took}{where}."
    text = f"\n## {described.TITLE}\n\n{description}\n\n{measured}\n"
    for calibrated in (False, True):
        findings, claims = (
            [each for each in document[kind] if each.get("calibrated", False) == calibrated]
            for kind in ("findings", "claims")
        )
        if calibrated and (findings or claims):
            text += f"\n{CALIBRATED}\n"
        if findings:
            text += "\n" + _table(FINDINGS, (_finding(document, each) for each in findings))
        if claims:
            text += "\n" + _table(CLAIMS, (_claim(document, each) for each in claims))
    return text


def _finding(document: Document, finding: Mapping[str, Any]) -> list[str]:
    sides = [_measured(finding[side], finding["unit"]) for side in ("without", "measured")]
    return [finding["what"], *sides, f"**{_measured(finding['factor'], 'x')}**", f"`{document['command']}`"]


def _claim(document: Document, claim: Mapping[str, Any]) -> list[str]:
    unit = claim["target"].split(maxsplit=2)[2:]
    measured = _measured(claim["measured"], unit[0] if unit else "")
    verdict = "yes" if claim["holds"] else "**no**"
    where = "; ".join(filter(None, ["calibrated" if claim.get("calibrated") else "", claim["detail"]]))
    return [claim["text"], claim["target"], measured, verdict, where, f"`{document['command']}`"]


def _table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    whole = [list(columns), ["---"] * len(columns), *escaped]
    return "".join(f"| {' | '.join(line)} |\n" for line in whole)


def _measured(interval: Sequence[float], unit: str) -> str:
    """For example `8.2 s (8.1 to 8.4)`; what is exact has no interval."""
    median, low, high = interval
    if unit in SCALES:
        factor, unit = next(
            ((factor, name) for factor, name in SCALES[unit] if abs(median) * factor >= 1), SCALES[unit][-1]
        )
        median, low, high = (value * factor for value in interval)
    text = _number(median) + ("" if unit == "x" else " " if unit else "") + unit
    return text if low == high else f"{text} ({_number(low)} to {_number(high)})"


SCALES = {
    "s": ((1, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")),
    "ns": ((1e-9, "s"), (1e-6, "ms"), (1e-3, "us"), (1, "ns")),
}
"""Units of time, by what is multiplied, the largest first."""


def _number(value: float) -> str:
    """Three digits, or all of a large number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _machine(machine: Mapping[str, Any]) -> str:
    mpi = ", ".join(f"{name} {version}" for name, version in machine["mpi"].items() if version != "none")
    others = f"{machine['cores']} cores, {machine['memory_gib']:g} GiB, {machine['system']}"
    return f"{re.sub(' +', ' ', machine['cpu'])}, {others}, {mpi}, Python {machine['python']}"


if __name__ == "__main__":
    sys.exit(main())
