# SPDX-License-Identifier: Apache-2.0
"""OpenCoarrays' own tests, as Debian builds them, give the same output with and without nearfetch. Its
runtime uses bytes of a get before the unlock, when same-node memory has delivered them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import PROGRAMS, finish
from launch import environment, sanitizers

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

FOLDERS = sorted(Path("/usr/lib").glob("*/open-coarrays/openmpi/bin/OpenCoarrays-*-tests"))

LEFT_OUT = {
    "image_fail": "it fails an image, at which Open MPI 4.1 ends the program",
    "increment_my_neighbor": "it reads what the neighbour may not have set yet",
    "issue-488-multi-dim-cobounds": "it needs arguments",
    "sync_team": "it needs eight images",
    "team_number": "it needs eight images",
}
"""Prefixes of programs that fail without nearfetch too."""

TOO_LONG_OVER_TCP = {
    "alloc_comp_multidim_shape",
    "coarray_burgers_pde",
    "coarray_distributed_transpose",
    "get_array",
    "send_array",
}
WRONG_OVER_TCP = {"sendget_convert_char_array", "sendget_convert_nums"}
"""They read bytes of a get before the unlock, and fail without nearfetch."""

THREE_IMAGES = {
    "get_communicator",
    "issue-422-send-get",
    "random_init",
    "send_array",
    "sendget_convert_nums",
    "static_event_post_issue_293",
    "strided_sendget",
    "sync_image_ring_abort_on_stopped_image",
    "teams_subset",
}
FOUR_IMAGES = {
    "allocatable_p2p_event_post",
    "get_array",
    "get_with_vector_index",
    "sendget_convert_char_array",
}
"""Other programs that name a number of images need two."""

SAY_OTHER_EACH_TIME = {
    "coarray_distributed_transpose": "times",
    "get_convert_char_array": "bytes that nobody has set",
    "issue-552-send_by_ref-singleton": "random numbers",
}
"""Of these only the lines that report success are compared, up to a colon."""

OF_ONE_SIDED_CALLS = ("get_", "send", "strided_", "alloc_comp_", "teams_coarray_", "issue-", "whole_")
"""Prefixes of programs with one-sided accesses, which also run over TCP."""


class Ended(NamedTuple):
    """How a program ended, and its output in any order of its images."""

    code: int
    lines: Counter[str]


def _names() -> list[str]:
    if not FOLDERS:
        return []
    names = sorted(path.name for path in FOLDERS[0].iterdir() if os.access(path, os.X_OK))
    return [name for name in names if not name.startswith(tuple(LEFT_OUT))]


def _images_of(name: str) -> int:
    if name in FOUR_IMAGES or name.startswith("co_"):
        return 4
    return 3 if name in THREE_IMAGES else 2


def _run(name: str, network: str, mode: str | None) -> Ended:
    images = _images_of(name)
    launch = mpiexec("openmpi", images, network, without_nearfetch(os.environ))
    command = [*launch.argv, str(FOLDERS[0] / name)]
    if mode is not None:
        command = nearfetch_run(PROGRAMS.parent, mode, family="openmpi") + command
    code, stdout, _ = finish(command, environment(launch.env, PROGRAMS.parent, images))
    lines = Counter(line.strip() for line in stdout.splitlines())
    if name in SAY_OTHER_EACH_TIME:
        lines = Counter(line.split(":")[0] for line in lines.elements() if "passed" in line)
    return Ended(code, lines)


@pytest.fixture(autouse=True)
def _loads_nearfetch() -> None:
    if sanitizers(PROGRAMS.parent):
        pytest.skip("OpenCoarrays was built without the sanitizers' runtime")


def _same(name: str, network: str) -> None:
    plain = _run(name, network, None)
    assert plain.code == 0, "it does not pass by itself"
    assert _run(name, network, "acquire") == plain


@pytest.mark.skipif(not FOLDERS, reason="no tests of OpenCoarrays (libcoarrays-openmpi-dev is not installed)")
def test_there_are_tests() -> None:
    assert {"sendget_convert_nums", "sendget_convert_char_array"} <= set(_names())


@pytest.mark.parametrize("name", _names())
def test_shared_memory(name: str) -> None:
    _same(name, "shm")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in _names()
        if name.startswith(OF_ONE_SIDED_CALLS) and name not in TOO_LONG_OVER_TCP | WRONG_OVER_TCP
    ],
)
def test_tcp(name: str) -> None:
    _same(name, "tcp")
