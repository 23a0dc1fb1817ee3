# SPDX-License-Identifier: Apache-2.0
"""The report of a made-up run: its numbers, and its page in a browser, light and dark, wide and narrow."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nearfetch import report
from nearfetch.cli import main
from nearfetch.layout import Layout

BUILD = Path(os.environ["NEARFETCH_BUILD"])
LAYOUT = Layout.of_build(BUILD)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for path in map(shutil.which, BROWSERS) if path), None)


def window(name: str, rank: int, **counters: Any) -> dict[str, Any]:
    """What a rank says about a window."""
    gets = counters.get("gets", 0)
    line = {
        "interval_s": 1 / 64 * (1 + rank % 2),
        "gets": [gets // 4] * 4,
        "hits": [0, 1, gets // 8, gets // 5],
    }
    line["bytes_from_cache"] = [8 * hits for hits in line["hits"]]
    line["bytes_from_network"] = [100 << 10, 50 << 10, 10 << 10, 0]
    return {
        "name": name,
        "mode": "acquire",
        "site": "app(+0x1234)",
        "bytes": 1 << 24,
        "windows": 1,
        "ranks": 6,
        "timeline": line,
        "forgotten_by": {},
        **counters,
    }


def write_run(folder: Path, ranks: int = 6) -> None:
    """The files of a run."""
    for rank in range(ranks):
        graph = window(
            "graph",
            rank,
            gets=10_000,
            hits=1000 * rank,
            own_memory=100,
            first_reads=900,
            forgotten=9000 - 1000 * rank,
            bytes_from_network=(6 - rank) << 20,
            forgotten_by={"MPI_Allreduce": 8998 - 1000 * rank, "a <fetching> atomic": 2},
        )
        document = {
            "end": "MPI_Finalize" if rank else "SIGTERM",
            "job": "j",
            "world": "w",
            "spawned": False,
            "rank": rank,
            "elapsed_s": 1.5,
            "nearfetch": "0.0.1",
            "mpi": "mpich",
            "mpi_library": "MPICH Version: 5",
            "host": f"node{rank % 2}",
            "command": ["./app", "--name", "<b>&"],
            "settings": {"bypass": "off", "memory_bytes": "1GiB"},
            "memory": {"limit_bytes": 1 << 30, "most_taken_bytes": 1 << 20, "origin": "memory_bytes"},
            "windows": [graph, window("counter " + 40 * "x", rank, gets=40, hits=0, first_reads=40)],
        }
        (folder / f"rank-{rank}.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path) -> report.Run:
    """A run of six ranks."""
    write_run(tmp_path)
    return report.read(LAYOUT, tmp_path)


def test_times_of_different_intervals_are_added(run: report.Run) -> None:
    length, sums = report.timeline(run)
    assert length == 1 / 32
    assert sum(sums["gets"]) == 6 * (10_000 + 40)
    # Three ranks have intervals of half the length.
    assert sums["gets"] == [3 * 2 * 2510 + 3 * 2510] * 2 + [3 * 2510] * 2


def test_heat_maps_have_a_cell_for_each_rank(run: report.Run) -> None:
    hits, network = report.heat_maps(run)
    assert hits.columns == [f"rank {rank}" for rank in range(6)]
    name, cells = hits.rows[0]
    assert name == "graph app(+0x1234)"
    assert [round(share * 9900) for share, _ in cells] == [1000 * rank for rank in range(6)]
    assert network.rows[0][1][0] == (1.0, "6.0 MiB")


def test_many_ranks_share_cells(tmp_path: Path) -> None:
    write_run(tmp_path, 200)
    (hits, _) = report.heat_maps(report.read(LAYOUT, tmp_path))
    assert len(hits.columns) == 64
    assert hits.columns[0] == "ranks 0 to 2" and hits.columns[-1].endswith("to 199")


def test_text_names_what_the_summary_does_not(run: report.Run) -> None:
    text = report.text_of(run)
    assert "1 rank ended early (SIGTERM)" in text
    assert "settings: bypass=off, memory_bytes=1GiB" in text
    assert "MPICH Version: 5; nearfetch 0.0.1" in text
    assert run.summary["situation"] == "forgotten"


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path)
    assert main(["report", str(tmp_path)], LAYOUT) == 0
    assert "forgotten at `MPI_Allreduce`" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--html", str(tmp_path / "page.html")], LAYOUT) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "rank-3.json").write_text("{", encoding="utf-8")
    assert main(["report", str(tmp_path)], LAYOUT) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "nowhere")], LAYOUT) == 2
    assert "name one of nearfetch run --stats" in capsys.readouterr().err


def test_the_page_needs_nothing_else(run: report.Run) -> None:
    page = report.html_of(run)
    assert "<script" not in page and "<link" not in page and "//" not in page.replace("<!doctype", "")
    assert "&lt;b&gt;&amp;" in page and "a &lt;fetching&gt; atomic" in page


def luminance(color: str) -> float:
    """Of a color as browsers compute it, `rgb(20, 24, 29)`."""
    numbers = [int(word) for word in color.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in numbers]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_the_page_in_a_browser(run: report.Run, scheme: str, width: int, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "page.html"
    file.write_text(report.html_of(run), encoding="utf-8")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.goto(file.as_uri())
        kept = os.environ.get("NEARFETCH_SCREENSHOTS")
        if kept:
            page.screenshot(path=str(Path(kept) / f"report-{scheme}-{width}.png"), full_page=True)
        assert asked == [file.as_uri()] and not problems
        assert page.inner_text("#verdict") == run.summary["verdict"].replace("`", "")
        assert page.locator("figure.chart rect").count() == 2 * 2 * 4
        assert page.locator("figure.map .cell").count() == 2 * 2 * 6
        assert page.locator("#forgotten tr").count() == 1 + 2
        # Nothing sticks out; what is wide scrolls by itself.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        columns = page.evaluate(
            "getComputedStyle(document.querySelector('.two')).gridTemplateColumns.split(' ').length"
        )
        assert columns == (1 if width < 500 else 2)
        of_body = "getComputedStyle(document.body)"
        ground, text = (
            luminance(page.evaluate(f"{of_body}.{name}")) for name in ("backgroundColor", "color")
        )
        assert (ground > 0.5) == (scheme == "light")
        quiet = luminance(page.evaluate("getComputedStyle(document.querySelector('.axis')).color"))
        for ink in (text, quiet):
            low, high = sorted((ground, ink))
            assert (high + 0.05) / (low + 0.05) >= 4.5, "the text can hardly be read"
        some, none = (
            page.evaluate(f"getComputedStyle(document.querySelectorAll('.map .cell')[{i}]).backgroundColor")
            for i in (0, 5)
        )
        assert some != none
        browser.close()
