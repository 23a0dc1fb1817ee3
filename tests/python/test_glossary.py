# SPDX-License-Identifier: Apache-2.0
"""The checks of words that docs/glossary.md replaces, of layers and of classes, on trees of a few lines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import classes  # noqa: E402
import glossary  # noqa: E402
import layers  # noqa: E402

PAGE = """
| word | meaning | where | not |
|---|---|---|---|
| cost model | what it costs | `src/policy` | `bet`, `in_vain` |
| replica | a copy | `src/array` | `image` (src/array, include) |
| page | 1,024 bytes | `src/cache` | |
"""


def tree(root: Path, **files: str) -> list[Path]:
    """A source tree with the page above and these files; `__` in a name is a slash, `_h` at its end .hpp."""
    for folder in ("policy", "array", "cache"):
        (root / "src" / folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in {"docs__glossary.md": PAGE, **files}.items():
        path = root / name.replace("__", "/").replace("_h", ".hpp")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def test_words_of_a_page():
    assert glossary.words(PAGE) == [
        glossary.Word("bet", (), "cost model"),
        glossary.Word("in_vain", (), "cost model"),
        glossary.Word("image", ("src/array", "include"), "replica"),
    ]


@pytest.mark.parametrize(
    "text", ["a bet", "put_bet_", "class PutBet;", "// Bet", "tests_in_vain", "InVain", "bet1"]
)
def test_a_replaced_word_is_found(tmp_path: Path, text: str):
    problem = glossary.problems(tmp_path, tree(tmp_path, src__rma__a_h=f"\n{text}\n"))
    assert problem is not None
    assert problem.startswith("src/rma/a.hpp:2: ")
    assert "cost model" in problem


@pytest.mark.parametrize("text", ["better", "alphabet", "between", "Between", "BETTER", "vain"])
def test_another_word_is_not(tmp_path: Path, text: str):
    assert glossary.problems(tmp_path, tree(tmp_path, src__rma__a_h=text)) is None


def test_a_word_is_free_outside_of_its_folders(tmp_path: Path):
    assert glossary.problems(tmp_path, tree(tmp_path, apps__picture_h="class Image;")) is None
    assert glossary.problems(tmp_path, tree(tmp_path, src__array__a_h="class Image;")) is not None


def test_a_files_name_counts(tmp_path: Path):
    assert glossary.problems(tmp_path, tree(tmp_path, src__policy__bet_h="")) is not None


def test_an_old_name_may_be_named(tmp_path: Path):
    assert glossary.problems(tmp_path, tree(tmp_path, src__base__a_h='Row{"bet"}  // old name')) is None


def test_layers_go_one_way(tmp_path: Path):
    files = tree(
        tmp_path,
        src__cache__a_h='#include "base/types.hpp"\n#include <vector>\n',
        src__rma__b_h='#include "cache/a.hpp"\n#include <nearfetch/detail/base/types.hpp>\n',
        include__nearfetch__detail__base__c_h="#include <cstdint>\n",
    )
    assert layers.problems(tmp_path, files) is None


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("src__cache__a_h", '"rma/b.hpp"'),
        ("src__cache__a_h", "<nearfetch/array.hpp>"),
        ("src__cache__a_h", "<mutex>"),
        ("src__rma__a_h", "<nearfetch/detail/pgas/b.hpp>"),
        ("include__nearfetch__array.hpp", '"base/types.hpp"'),
        ("include__nearfetch__other.hpp", "<vector>"),
        ("src__other__a_h", "<vector>"),
    ],
)
def test_no_layer_includes_one_above(tmp_path: Path, name: str, include: str):
    assert layers.problems(tmp_path, tree(tmp_path, **{name: f"#include {include}\n"})) is not None


def test_a_word_lives_in_a_place_that_exists(tmp_path: Path):
    files = tree(tmp_path)
    assert glossary.problems(tmp_path, files) is None
    (tmp_path / "src" / "policy").rmdir()
    assert "docs/glossary.md:1: there is no 'src/policy'" in str(glossary.problems(tmp_path, files))


CLASS = """
template <class T>
class alignas(64) Some final : public Base<T> {
  public:
    explicit Some(int size) : size_(size) {}
    ~Some();
    Some(const Some&) = delete;
    Some& operator=(const Some&) = delete;
    using Name = int (*)(int);  // not (a) method
    bool operator==(const Some&) const = default;
    int size() const noexcept { return f(size_); }  ///< counts, as do the next three
    template <class F>
    requires requires(F f) { f(); }
    void visit(F&& f) { while (f()) {} }
    std::function<void(int)> on_change() const;
    T& operator[](int place) noexcept;
    struct Inner { int value() const; int first = 0; } inner{};
    int number = other(3);

  private:
    void hidden();
};
enum class Kind { one, two };
"""


def test_public_methods_are_counted():
    assert list(classes.classes("a.hpp", CLASS)) == [
        classes.Class("a.hpp", "Some", 4),
        classes.Class("a.hpp", "Inner", 1),
    ]


@pytest.mark.parametrize(("methods", "name", "is_found"), [(20, "A", False), (21, "A", True)])
def test_a_class_with_too_many_methods_is_found(tmp_path: Path, methods: int, name: str, is_found: bool):
    body = "".join(f"void method_{i}();\n" for i in range(methods))
    problem = classes.problems(
        tmp_path, tree(tmp_path, src__rma__a_h=f"class {name} {{ public:\n{body}}};\n")
    )
    assert (problem is not None) == is_found
    assert problem is None or problem.startswith(f"src/rma/a.hpp:1: {name} has {methods} public methods")


def test_array_types_may_have_more(tmp_path: Path):
    body = "".join(f"void method_{i}();\n" for i in range(30))
    text = f"class DistributedArray {{ public:\n{body}}};\n"
    assert classes.problems(tmp_path, tree(tmp_path, include__a_h=text)) is None
