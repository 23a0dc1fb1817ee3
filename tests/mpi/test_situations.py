# SPDX-License-Identifier: Apache-2.0
"""What --summary and the report say in each situation in which nearfetch helps, or not; and how runs end."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Optional

import pytest
from launch import environment, run_quietly

from nearfetch import report
from nearfetch.layout import Layout
from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

BUILD = Path(os.environ["NEARFETCH_BUILD"])
FAMILIES = [name for name in ("mpich", "openmpi") if (BUILD / "programs" / name / "situations").exists()]
LAYOUT = Layout.of_build(BUILD)

# Elements and rounds of situations.cpp.
GETS = 20 * 64
AGAIN = 19 * 64


class Job:
    """A run of the program `situations`."""

    def __init__(self, family: str, arguments: list[str], ranks: int = 2) -> None:
        launch = mpiexec(family, ranks, "shm", without_nearfetch(os.environ))
        self.family = family
        self.env = environment(launch.env, BUILD, ranks)
        self.launcher = launch.argv
        self.program = [str(BUILD / "programs" / family / "situations"), *arguments]

    def run(
        self, settings: dict[str, str], stats: Optional[Path] = None, before: Optional[list[str]] = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs it under nearfetch. \\param before stands between launcher and program"""
        command = nearfetch_run(BUILD, None, settings, stats, self.family)
        command += [*self.launcher, *(before or []), *self.program]
        return run_quietly(command, self.env)


def page_in(text: str) -> str:
    """The page of the summary, of which there has to be one."""
    lines = text.splitlines()
    begins = [i for i, line in enumerate(lines) if line.startswith("nearfetch: summary of ")]
    assert len(begins) == 1, text
    page = [lines[begins[0]]]
    for line in lines[begins[0] + 1 :]:
        if line and not line.startswith("  "):
            break
        page.append(line)
    assert max(len(line) for line in page) <= 100, text
    return "\n".join(page)


def in_one_line(page: str) -> str:
    """The page without its line breaks."""
    return re.sub(r"\s+", " ", page).strip()


SITUATIONS = {
    "no-reuse": ("no-reuse", {"bypass": "off"}, r"nothing to gain: no byte was read twice "),
    "locks": (
        "forgotten",
        {"bypass": "off", "locks": "synchronize"},
        rf"{2 * AGAIN:,} gets asked for bytes that were forgotten at `MPI_Win_lock` \({2 * AGAIN:,}\); "
        r"with `locks=access` 95 % would have hit, if no lock alone tells that somebody has written ",
    ),
    "threads": (
        "forgotten",
        {"bypass": "off"},
        r"with `locks=access` 95 % would have hit, .* `MPI_THREAD_MULTIPLE`: there are no leases, ",
    ),
    "allreduce": (
        "forgotten",
        {"bypass": "off"},
        rf"{2 * AGAIN:,} gets asked for bytes that were forgotten at `MPI_Allreduce` \({2 * AGAIN:,}\); "
        r"with `mode=always-cache` 95 % would have hit, if nobody writes meanwhile ",
    ),
    "small-buffer": (
        "too-small",
        {"bypass": "off", "memory_bytes": "1MiB"},
        r"buffer too small: [\d,]+ gets asked for bytes that had been fetched, and had no room to stay "
        r"\(a rank reads 2\.0 MiB, and its caches took .* of 1\.0 MiB\); with more `memory_bytes` "
        r"\d\d % would have hit ",
    ),
    "own-memory": (
        "own-memory",
        {},
        rf"own memory only: all {2 * GETS:,} gets read what the process itself exposes, which is never ",
    ),
    "same-node": (
        "same-node",
        {"bypass": "always"},
        r"same node: the library delivers from shared memory, where a hit saves nothing, so 25,600 gets were "
        r"bypassed ",
    ),
    "written-to": (
        "written-to",
        {"bypass": "off"},
        rf"window written to: {2 * AGAIN:,} gets asked for bytes that were forgotten at `MPI_Win_fence` "
        rf"\({2 * AGAIN:,}\), and 40 puts and accumulates wrote to these windows, so they have to be ",
    ),
    "helps": ("helps", {"bypass": "off"}, r"(saved about .* a rank; )?99\.5 % of remote gets hit"),
    "no-window": ("no-window", {}, r"this program made no MPI window: nothing to do"),
}
"""By what the program is told: the situation, settings that make it, and what the page has to say."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("what", SITUATIONS)
def test_summary_and_report_say_the_same(family: str, what: str, tmp_path: Path) -> None:
    situation, settings, sentence = SITUATIONS[what]
    done = Job(family, [what]).run({"summary": "on", **settings}, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    page = page_in(done.stderr)
    assert re.search(sentence, in_one_line(page) + " "), page
    run = report.read(LAYOUT, tmp_path / "out")
    assert run.summary["situation"] == situation
    assert run.summary["verdict"] in in_one_line(page)
    assert run.summary["advice"] in in_one_line(page)
    assert run.ranks[0]["thread_multiple"] == (what == "threads")

    assert run.summary["page"].strip() == page.strip()
    text = report.text_of(run)
    assert run.summary["verdict"] in in_one_line(text)
    assert not run.early_ends
    html = report.html_of(run)
    assert "<script" not in html and "http" not in html
    assert f"made at {'' if what == 'no-window' else 'situations('}" in page or what == "no-window"


SHARING = {
    "no-reuse": ([], r" node [\d,]+ of [\d,]+ ranges that were missing came from other ranks of the node \("),
    "threads": ([], r" node ranks share nothing: `MPI_THREAD_MULTIPLE` "),
    "allreduce": (
        ["bash", "-c", 'ulimit -f 60000; exec "$0" "$@"'],
        r" node ranks share nothing: the memory for it cannot be made or mapped ",
    ),
}
"""By what the program is told: a command before it, and what the page says of two nodes of two ranks."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("what", SHARING)
def test_whether_ranks_of_a_node_share_is_said(family: str, what: str) -> None:
    before, sentence = SHARING[what]
    settings = {"summary": "on", "bypass": "off", "node_ranks": "2"}
    done = Job(family, [what], ranks=4).run(settings, before=before)
    assert done.returncode == 0, done.stderr
    assert re.search(sentence, in_one_line(page_in(done.stderr)) + " "), done.stderr
    done = Job(family, [what]).run(settings, before=before)
    assert "\n    node " not in page_in(done.stderr), "there is one node"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stale_hit_says_that_another_rank_of_the_node_had_fetched_it(family: str, tmp_path: Path) -> None:
    settings = {"mode": "acquire", "bypass": "off", "node_ranks": "2", "check_hits": "1"}
    done = Job(family, ["race", str(tmp_path)], ranks=4).run(settings)
    assert done.returncode == 0, done.stderr
    said = (
        "rank 1: a hit of 8 bytes that another process of this node had fetched at displacement 0 of rank 2 "
    )
    assert done.stderr.count("nearfetch: rank ") == done.stderr.count(said) == 1, done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_a_program_without_nearfetch_is_noticed(family: str, tmp_path: Path) -> None:
    job = Job(family, ["no-reuse"])
    done = job.run({"summary": "on"}, before=["env", "-u", "LD_PRELOAD"])
    assert done.returncode == 0, done.stderr
    assert "nearfetch: no rank was seen (no program came to MPI_Init with nearfetch loaded" in done.stderr
    assert "`nearfetch env`" in done.stderr
    assert "summary of" not in done.stderr
    with pytest.raises(report.NearfetchError, match="no rank was seen"):
        report.read(LAYOUT, tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_without_windows_take_part(family: str, tmp_path: Path) -> None:
    done = Job(family, ["some-ranks"], ranks=4).run({"summary": "on"}, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    page = page_in(done.stderr)
    assert page.startswith("nearfetch: summary of 4 ranks, ")
    assert "no window was read or written" in page
    assert len(list((tmp_path / "out").glob("rank-*.json"))) == 4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("without", [0, 1])
def test_ranks_without_nearfetch_stop_nobody(family: str, without: int) -> None:
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    script = f'if [ "{rank}" = {without} ]; then unset LD_PRELOAD; fi; exec "$@"'
    done = Job(family, ["no-window"], ranks=3).run({"summary": "on"}, before=["sh", "-c", script, "sh"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 3
    alone = "summary of rank 0 alone (others have not answered)"
    assert (alone in done.stderr) == (without != 0), done.stderr


ENDS = {
    "abort": ("MPI_Abort", 7),
    "exit": ("exit without MPI_Finalize", 6),
    "segv": ("SIGSEGV", None),
    "term": ("SIGTERM", None),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", ENDS)
def test_an_early_end_leaves_numbers(family: str, how: str, tmp_path: Path) -> None:
    end, status = ENDS[how]
    job = Job(family, ["end", how])
    plain = subprocess.run(
        [*job.launcher, *job.program], env=job.env, capture_output=True, stdin=subprocess.DEVNULL, timeout=120
    )
    done = job.run({"bypass": "off"}, tmp_path / "out")
    assert done.returncode == plain.returncode != 0
    assert status is None or done.returncode == status
    said = json.loads((tmp_path / "out" / "rank-0.json").read_text(encoding="utf-8"))
    assert said["end"] == end
    assert said["windows"][0]["gets"] == GETS
    assert not list((tmp_path / "out").glob("*.part"))
    run = report.read(LAYOUT, tmp_path / "out")
    assert run.early_ends[end] >= 1
    assert f"ended early ({end})" in report.text_of(run)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("when", ["own-handler", "own-handler-before"])
def test_the_programs_own_handler_is_called(family: str, when: str, tmp_path: Path) -> None:
    done = Job(family, [when]).run({}, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2
    said = json.loads((tmp_path / "out" / "rank-0.json").read_text(encoding="utf-8"))
    assert said["end"] == "MPI_Finalize"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_says_under_what_it_was_made(family: str, tmp_path: Path) -> None:
    job = Job(family, ["helps"])
    assert job.run({"bypass": "off", "buffer_bytes": "8MiB"}, tmp_path / "out").returncode == 0
    said = json.loads((tmp_path / "out" / "rank-1.json").read_text(encoding="utf-8"))
    assert said["settings"]["buffer_bytes"] == "8MiB" and said["settings"]["bypass"] == "off"
    assert said["command"] == job.program
    assert said["elapsed_s"] > 0 and said["host"] and said["nearfetch"] and said["mpi"] == family
    assert ("MPICH" if family == "mpich" else "Open MPI") in said["mpi_library"]
    (window,) = said["windows"]
    line = window["timeline"]
    assert sum(line["gets"]) == pytest.approx(window["gets"], abs=len(line["gets"]))
    assert sum(line["hits"]) == pytest.approx(window["hits"], abs=len(line["hits"]))
    assert len(line["gets"]) <= 64
