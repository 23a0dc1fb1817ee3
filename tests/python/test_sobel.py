# SPDX-License-Identifier: Apache-2.0
"""Sobel's operator in Python computes the same pixels as the C++ program."""

from __future__ import annotations

import subprocess

import pytest
from ranks import BUILD, FAMILIES, SOURCE, need_family, need_native, run

SOBEL = SOURCE / "apps" / "python" / "sobel.py"
CPP = BUILD / "programs" / "inproc" / "sobel"


@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_edges_of_a_photograph(tmp_path, family):
    need_family(family) if family else need_native()
    if not CPP.exists():
        pytest.skip("the C++ program is not built")
    before, after, both = (tmp_path / name for name in ("before.pgm", "after.pgm", "both.png"))
    words = [SOBEL, "--ranks", 6, "--before", before, "--after", after, "--output", both]
    said = run(words, family, 4)
    assert said.startswith("600 x 512 pixels, mean edge ") and said.endswith("0 messages while detecting\n")
    assert both.read_bytes().startswith(b"\x89PNG") and both.stat().st_size > 50_000
    expected = tmp_path / "expected.pgm"
    subprocess.run(
        [CPP, "--input", before, "--output", expected, "--ranks", "3"], check=True, capture_output=True
    )
    assert after.read_bytes() == expected.read_bytes()
    assert len(set(after.read_bytes())) > 100


def test_a_small_picture_of_many_ranks(tmp_path):
    need_native()
    # White to the right of the fourth column.
    (tmp_path / "small.pgm").write_bytes(b"P5 6 3 255\n" + 3 * b"\0\0\0\0\xff\xff")
    words = [SOBEL, "--picture", tmp_path / "small.pgm", "--ranks", 9, "--after", tmp_path / "edges.pgm"]
    run(words)
    assert (
        tmp_path / "edges.pgm"
    ).read_bytes() == b"P5\n6 3\n255\n" + 6 * b"\0" + b"\0\0\0\xff\xff\0" + 6 * b"\0"


def test_what_is_no_picture_is_named(tmp_path):
    need_native()
    (tmp_path / "none.png").write_text("no picture")
    assert "none.png: cannot be read (" in run([SOBEL, "--picture", tmp_path / "none.png"], expect=1)


def test_without_matplotlib_it_says_what_to_install(tmp_path):
    need_native()
    hide = tmp_path / "sitecustomize.py"
    hide.write_text(
        "import importlib.util as u\nf = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'matplotlib' else f(name, *rest)\n"
    )
    said = run([SOBEL, "--ranks", 2], before=["env", f"PYTHONPATH={tmp_path}:{SOURCE / 'python'}"], expect=2)
    assert "pip install matplotlib" in said
    assert "Traceback" not in said
