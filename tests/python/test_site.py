# SPDX-License-Identifier: Apache-2.0
"""The pages of the site: which there are, and what becomes of links and of the heads of headers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """docs/site/build.py for a small project."""
    found = importlib.util.spec_from_file_location("build", SOURCE / "docs/site/build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
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
