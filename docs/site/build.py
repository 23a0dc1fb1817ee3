#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./nf docs`: the site in build/docs/html, from all documents and the docstrings of the public API.

Pages are laid out in build/docs/source: the documents of the root and of docs/ where they stand in the
project, the pages of docs/site, a page for each public header, one for what these include, and one for the
Python package. A warning of Doxygen or Sphinx is an error. When nothing has changed since the last build,
nothing is done.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
INCLUDE = ROOT / "include"
PACKAGE = ROOT / "python" / "nearfetch"
BUILD = ROOT / "build" / "docs"
HTML = BUILD / "html"


def main() -> int:
    """Builds the site."""
    stamp = BUILD / "inputs"
    inputs = digest()
    if not stamp.exists() or stamp.read_text("utf-8") != inputs:
        shutil.rmtree(BUILD, ignore_errors=True)
        BUILD.mkdir(parents=True)
        status = run_doxygen() or lay_out() or run_sphinx()
        if status != 0:
            return status
        stamp.write_text(inputs, "utf-8")
    print(f"the site: {HTML.relative_to(ROOT)}/index.html")
    return 0


def digest() -> str:
    """Of all that the site is made from."""
    read = [*documents(), ROOT / "requirements-dev.txt"]
    for folder in (SITE, INCLUDE, PACKAGE):
        read += sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    total = hashlib.sha256()
    for path in read:
        total.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return total.hexdigest()


def documents() -> list[Path]:
    """All documents of the project."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def public_headers() -> list[Path]:
    """What programs include."""
    return sorted(path for path in (INCLUDE / "nearfetch").iterdir() if path.suffix in (".h", ".hpp"))


def run_doxygen() -> int:
    """The docstrings of the headers, as XML."""
    settings = (SITE / "Doxyfile").read_text("utf-8")
    settings += f'INPUT = "{INCLUDE}"\nOUTPUT_DIRECTORY = "{BUILD}"\n'
    settings += f'STRIP_FROM_PATH = "{INCLUDE}"\nSTRIP_FROM_INC_PATH = "{INCLUDE}"\n'
    try:
        status = subprocess.run(["doxygen", "-"], input=settings, text=True, check=False).returncode
    except FileNotFoundError:
        print(
            "build.py: there is no doxygen (it reads the docstrings of headers): install it", file=sys.stderr
        )
        return 1
    if status == 0:
        prepare_for_breathe()
    return status


def prepare_for_breathe() -> None:
    """Lets it tell headers of one name in two folders apart; hides what is private; joins broken code."""
    trees = {path: ElementTree.parse(path) for path in (BUILD / "xml").glob("*_*.xml")}
    definitions = [tree.find("compounddef") for tree in trees.values()]
    private = {found.get("id") for found in definitions if found.get("prot") == "private"}
    for path, tree in trees.items():
        definition = tree.find("compounddef")
        for inner in definition.findall("innerclass"):
            if inner.get("refid") in private:
                definition.remove(inner)
        for code in definition.iter("computeroutput"):
            code.text = code.text and re.sub(r"\s+", " ", code.text)
        for section in definition.findall("sectiondef"):
            if section.get("kind", "").startswith(("private", "friend")):
                definition.remove(section)
        tree.write(path)
    index = ElementTree.parse(BUILD / "xml" / "index.xml")
    files = {found.get("id"): found.find("location").get("file") for found in definitions}
    for entry in index.iter("compound"):
        if entry.get("kind") == "file":
            entry.find("name").text = files[entry.get("refid")]
    index.write(BUILD / "xml" / "index.xml")


def lay_out() -> int:
    """Writes the pages."""
    pages = {path.relative_to(SITE): path.read_text("utf-8") for path in SITE.rglob("*.md")}
    for path in documents():
        pages[path.relative_to(ROOT)] = with_links_of_the_site(path)
    for header in public_headers():
        pages[page_of(header)] = header_page(header)
    pages[Path("api/python.md")] = python_page()
    included = [f"## {name}\n\n{reference(name)}" for name in included_headers()]
    if included:
        title = "# What these headers include\n\nA program does not include these headers by itself.\n\n"
        pages[Path("api/included.md")] = title + "\n".join(included)
    for name, text in pages.items():
        place = BUILD / "source" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return 0


def with_links_of_the_site(document: Path) -> str:
    """A document: links to public headers lead to their pages; links to other sources are text."""

    def link(match: re.Match[str]) -> str:
        words, place = match.groups()
        target = (document.parent / place).resolve()
        if target in public_headers():
            return f"[{words}](/{page_of(target)})"
        return words if target.exists() and target not in documents() else match[0]

    return re.sub(r"\[([^\]\n]+)\]\((?!\w+:|#)([^)#\s]+)\)", link, document.read_text("utf-8"))


def page_of(header: Path) -> Path:
    """The page of a public header."""
    return Path("api") / f"{header.name.replace('.', '_')}.md"


def header_page(header: Path) -> str:
    """The page of a public header: what its head says, and what it declares."""
    name = header.relative_to(INCLUDE)
    head = "\n".join(as_markdown(head_comment(header.read_text("utf-8"))))
    return f"# {name}\n\n{head}\n\n{reference(str(name))}"


def reference(name: str) -> str:
    """The directive that shows what a header declares."""
    return f"```{{doxygenfile}} {name}\n```\n"


def head_comment(text: str) -> list[str]:
    """The lines of the comment that follows the include guard."""
    found = re.search(r"(?:#pragma once|#define \w+_H)\n+((?://.*\n)+|/\*(?:.|\n)*?\*/)", text)
    lines = found[1].splitlines() if found else []
    return [re.sub(r"^(?://|/\*+| \*/?) ?", "", line).rstrip() for line in lines]


def as_markdown(lines: list[str]) -> Iterator[str]:
    """Prose as it stands; what is indented by four is a program, and by less set out by hand."""
    for number, line in enumerate(lines):
        following = next((later for later in lines[number + 1 :] if later), "")
        previous = next((earlier for earlier in reversed(lines[:number]) if earlier), "")
        if not line.startswith("  "):
            inside = not line and previous.startswith("  ") and following.startswith("  ")
            yield line if inside else line.replace("<", "\\<")
            continue
        if not previous.startswith("  "):
            yield "\n```cpp" if line.startswith("    ") else "\n```text"
        yield re.sub("^ {2,4}", "", line)
        if not following.startswith("  "):
            yield "```\n"


SECTIONS = {
    "program": "Programs",
    "collectives": "Values of all ranks",
    "arrays": "Arrays",
    "constructors": "Making arrays",
    "files": "Files",
    "sparse": "Sparse matrices",
    "gathering": "Gathers",
    "window": "Windows",
    "errors": "Errors",
}
"""Titles of the sections of the package's page, in their order; other modules follow by their names."""


def python_page() -> str:
    """The page of the Python package: all of its public names, in a section for each module."""
    modules = public_modules()
    order = [*(name for name in SECTIONS if name in modules), *sorted(set(modules) - set(SECTIONS))]
    public = {name for names in modules.values() for name in names}
    text = "# The package `nearfetch`\n\nEverything here is imported from `nearfetch`.\n"
    for module in order:
        tree = ast.parse((PACKAGE / f"{module}.py").read_text("utf-8"))
        summary = (ast.get_docstring(tree) or "").split("\n\n")[0]
        bases = {node.name: _bases(node) for node in tree.body if isinstance(node, ast.ClassDef)}
        entries = "\n".join(_entry(name, bases.get(name, set()) & public) for name in modules[module])
        title = SECTIONS.get(module, module.replace("_", " ").capitalize())
        text += f"\n## {title}\n\n{summary}\n\n```{{eval-rst}}\n{entries}```\n"
    return text


def public_modules() -> dict[str, list[str]]:
    """The modules that have public names of the package, and these, as `__init__` imports them."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    modules: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearfetch."):
            names = modules.setdefault((node.module or "").split(".")[1], [])
            names += [alias.name for alias in node.names]
    return modules


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base) for base in node.bases}


def _entry(name: str, public_bases: set[str]) -> str:
    """The directive that shows a function, or a class with what it has and inherits from private ones."""
    if name.islower():
        return f".. autofunction:: nearfetch.{name}\n"
    inherited = "show-inheritance:" if public_bases else "inherited-members: Win, tuple, BaseException"
    options = ("members:", "special-members: __getitem__, __setitem__, __matmul__", inherited)
    return f".. autoclass:: nearfetch.{name}\n" + "".join(f"   :{option}\n" for option in options)


def included_headers() -> list[str]:
    """The headers below include/nearfetch that declare something for programs."""
    names = set()
    for path in (BUILD / "xml").glob("*nearfetch*.xml"):
        definition = ElementTree.parse(path).find("compounddef")
        declared = [definition]
        if definition.get("kind") == "namespace":
            declared = list(definition.iter("memberdef"))
        names |= {found.find("location").get("file") for found in declared}
    return sorted(name for name in names if INCLUDE / name not in public_headers() and "/" in name)


def run_sphinx() -> int:
    """The pages, as HTML."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(SITE)]
    command += ["-D", f"breathe_projects.nearfetch={BUILD / 'xml'}", "-d", str(BUILD / "doctrees")]
    command += [str(BUILD / "source"), str(HTML)]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
