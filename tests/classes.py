# SPDX-License-Identifier: Apache-2.0
"""How many public methods each class has: read from the headers of src/ and include/.

A class has one reason to exist. The array types are what users see of a whole layer; they may have more.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

MOST = 20
EXEMPT = {"DistributedArray", "SparseMatrix"}

_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'|\[\[.*?\]\]",
    re.DOTALL | re.MULTILINE,
)
_HEAD = re.compile(r"\b(class|struct)\s+(?:alignas\(\w+\)\s*)?(\w+)[^;{}()]*$")
_ACCESS = re.compile(r"^\s*(public|protected|private)\s*:")
_TEMPLATE = re.compile(r"\btemplate\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>")


class Class(NamedTuple):
    """A class of a header, and the number of its public methods."""

    header: str
    name: str
    methods: int


def classes(header: str, text: str) -> Iterator[Class]:
    """All classes of a header. Constructors, destructors, and what is deleted or defaulted do not count."""
    text = _TEMPLATE.sub(" ", _NOISE.sub(" ", text))
    for brace in (match.start() for match in re.finditer(r"\{", text)):
        head = _HEAD.search(text, max(0, brace - 400), brace)
        if head and not re.search(r"\benum\s*$", text[: head.start()]):
            body = text[brace + 1 : _end(text, brace)]
            yield Class(header, head[2], _count(head[2], body, head[1] == "struct"))


def _end(text: str, brace: int) -> int:
    """Where the block ends that begins at `brace`."""
    depth = 0
    for place in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def _members(body: str) -> Iterator[str]:
    """The declarations of a class, without the blocks in them."""
    declaration, place = "", 0
    while place < len(body):
        letter = body[place]
        if letter == "{":
            place = _end(body, place)
            # A block ends a function, and a class until its semicolon; not an initialiser in brackets.
            if "(" in declaration and declaration.count("(") == declaration.count(")"):
                yield declaration
                declaration = ""
        elif letter == ";":
            yield declaration
            declaration = ""
        else:
            declaration += letter
            if _ACCESS.match(declaration):
                yield declaration
                declaration = ""
        place += 1


def _count(name: str, body: str, public: bool) -> int:
    methods = 0
    for member in _members(body):
        if access := _ACCESS.match(member):
            public = access[1] == "public"
            continue
        declared = member.split("requires", 1)[0].strip()
        function = re.match(r"[^=(]*?\b(operator\s*[^\s\w]+|operator[^(]*|~?\w+)\s*\(", declared)
        if not public or not function or re.match(r"(using|typedef|friend|static_assert|enum)\b", declared):
            continue
        if function[1].lstrip("~") == name or re.search(r"=\s*(delete|default)\s*$", declared):
            continue
        methods += 1
    return methods


def all_classes(root: Path, files: list[Path]) -> list[Class]:
    """The classes of all headers of src/ and include/, those with most public methods first."""
    found: list[Class] = []
    for path in files:
        name = path.relative_to(root).as_posix()
        if path.suffix == ".hpp" and name.startswith(("src/", "include/")):
            found += classes(name, path.read_text(encoding="utf-8"))
    return sorted(found, key=lambda one: -one.methods)


def problems(root: Path, files: list[Path]) -> Optional[str]:
    """The classes that have too many public methods, one a line; None if there are none."""
    large = [one for one in all_classes(root, files) if one.methods > MOST and one.name not in EXEMPT]
    lines = [f"{c.header}:1: {c.name} has {c.methods} public methods (most {MOST}): split it" for c in large]
    return "\n".join(lines) or None


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    for one in all_classes(here, sorted(here.rglob("*.hpp")))[
        : int(sys.argv[1]) if len(sys.argv) > 1 else 10
    ]:
        print(f"{one.methods:3}  {one.name:24} {one.header}")
