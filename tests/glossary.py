# SPDX-License-Identifier: Apache-2.0
"""Words that docs/glossary.md replaces are not used any more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

_SUFFIXES = {
    ".cpp",
    ".hpp",
    ".h",
    ".c",
    ".in",
    ".inc",
    ".f90",
    ".py",
    ".txt",
    ".cmake",
    ".md",
    ".sh",
    ".toml",
    ".yml",
}
_EXEMPT = {"docs/glossary.md", "CHANGELOG.md", "tests/glossary.py", "tests/python/test_glossary.py"}
"""These name the old words."""


_PLACE = re.compile(r"`((?:src|include|tests|bench|python)/[\w/.-]+)`")
_OLD_NAME = re.compile(r"old[ _]name")
"""On a line that says so, an old name is an error that names the new one."""


class Word(NamedTuple):
    """A word that is not to be used, in these folders; in all if there are none."""

    text: str
    folders: tuple[str, ...]
    instead: str

    def pattern(self) -> re.Pattern[str]:
        """Finds it as a word of a text, and as a part of an identifier: bet, put_bet, PutBet."""
        lower = re.escape(self.text)
        camel = re.escape("".join(part.capitalize() for part in re.split(r"[ _-]", self.text)))
        exact = self.text != self.text.lower()
        small = rf"(?<![A-Za-z]){lower}(?![a-z])"
        return re.compile(small if exact else rf"{small}|{camel}(?![a-z])")


def words(glossary: str) -> list[Word]:
    """The words of the column *not* in the tables of a glossary."""
    found = []
    for line in glossary.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or set(cells[0]) <= {"-"}:
            continue
        for text, folders in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", cells[3]):
            found.append(Word(text, tuple(f.strip() for f in folders.split(",") if f.strip()), cells[0]))
    return found


def problems(root: Path, files: list[Path]) -> Optional[str]:
    """The places in `files` where a replaced word stands, one a line; None if there are none."""
    table = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    replaced = words(table)
    found = [
        f"docs/glossary.md:1: there is no '{place}': say where the word lives now"
        for place in sorted(set(_PLACE.findall(table)))
        if not (root / place).exists()
    ]
    found += [hit for path in files for hit in _hits(path.relative_to(root).as_posix(), path, replaced)]
    return "\n".join(found) or None


def _hits(name: str, path: Path, replaced: list[Word]) -> Iterator[str]:
    if (path.suffix not in _SUFFIXES and path.name != "nf") or name in _EXEMPT:
        return
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for word in replaced:
        if word.folders and not name.startswith(word.folders):
            continue
        pattern = word.pattern()
        if pattern.search(name):
            yield f"{name}:1: its name has '{word.text}': the word is {word.instead} (docs/glossary.md)"
        for number, line in enumerate(lines, 1):
            if pattern.search(line) and not _OLD_NAME.search(line):
                yield f"{name}:{number}: '{word.text}': the word is {word.instead} (docs/glossary.md)"
