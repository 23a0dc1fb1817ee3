# SPDX-License-Identifier: Apache-2.0
"""The pages of the site: which there are, and what becomes of links and of the heads of headers."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nearfetch

SOURCE = Path(__file__).resolve().parents[2]


def build():
    """The module docs/site/build.py."""
    found = importlib.util.spec_from_file_location("build", SOURCE / "docs/site/build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path, monkeypatch):
    """docs/site/build.py for a small project."""
    module = build()
    for name in ("README.md", "docs/arrays.md", "include/nearfetch/array.hpp", "apps/x.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "INCLUDE", tmp_path / "include")
    return module


def test_a_new_document_is_found(site):
    (site.ROOT / "docs" / "new.md").touch()
    names = [str(path.relative_to(site.ROOT)) for path in site.documents()]
    assert names == ["README.md", "docs/arrays.md", "docs/new.md"]


def test_links_lead_to_pages_of_the_site_or_are_text(site):
    readme = site.ROOT / "README.md"
    readme.write_text(
        "[a](docs/arrays.md) [h](include/nearfetch/array.hpp) [x](apps/x.cpp) "
        "[w](https://example.org) [n](no.md)"
    )
    assert site.with_links_of_the_site(readme) == (
        "[a](docs/arrays.md) [h](/api/array_hpp.md) x [w](https://example.org) [n](no.md)"
    )


def test_the_head_of_a_header_is_prose_and_programs(site):
    header = site.INCLUDE / "nearfetch" / "array.hpp"
    header.write_text(
        "// SPDX\n#pragma once\n\n// An array<T>.\n//\n//     f();\n//\n//     g();\n//\n// Names:\n"
        "//   a  b\n\n// No part of it.\n"
    )
    page = site.header_page(header)
    assert page.startswith("# nearfetch/array.hpp\n\nAn array\\<T>.\n\n\n```cpp\nf();\n\ng();\n```\n")
    assert "\n```text\na  b\n```\n" in page
    assert "No part" not in page
    assert page.endswith("```{doxygenfile} nearfetch/array.hpp\n```\n")


def test_the_head_of_a_c_header_is_found(site):
    head = site.head_comment(
        "#ifndef X_H\n#define X_H\n\n/*\n * One.\n *\n *     two();\n */\nint f(void);\n"
    )
    assert [line for line in head if line] == ["One.", "    two();"]


def test_every_public_name_of_the_package_is_on_its_page_once():
    page = build().python_page()
    assert sorted(re.findall(r"^\.\. auto\w+:: nearfetch\.(\w+)$", page, re.MULTILINE)) == sorted(
        nearfetch.__all__
    )


def test_every_public_name_is_in_the_built_reference_with_its_docstring(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("breathe")
    from sphinx.util.inventory import InventoryFile

    (tmp_path / "index.md").write_text(build().python_page())
    words = ["-q", "-b", "html", "-c", SOURCE / "docs/site", tmp_path, tmp_path / "html"]
    command = [sys.executable, "-m", "sphinx", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    with (tmp_path / "html" / "objects.inv").open("rb") as file:
        kinds = InventoryFile.load(file, "", lambda base, name: name)
    listed = {name for kind in kinds if kind.startswith("py:") for name in kinds[kind]}
    assert listed >= {f"nearfetch.{name}" for name in nearfetch.__all__}
    assert "nearfetch.SparseMatrix.__matmul__" in listed and "nearfetch.BlockArray.sum" not in listed
    html = (tmp_path / "html" / "index.html").read_text()
    entries = re.findall(r'<dt class="sig[^"]*" id="(nearfetch\.[\w.]+)">.*?<dd>(.*?)</dd>', html, re.DOTALL)
    assert len(entries) > 100 and "Mock" not in html
    assert [name for name, text in entries if "<p>" not in text] == []
