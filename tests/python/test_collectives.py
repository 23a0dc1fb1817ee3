# SPDX-License-Identifier: Apache-2.0
"""Mismatched collective calls, and Ctrl-C: on threads, and on MPI."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Optional

import pytest
from launch import environment
from ranks import BUILD, FAMILIES, SOURCE, ends_by_interrupt, need_family, need_native, run

import nearfetch
from nearfetch.mpiexec import mpiexec, without_nearfetch

SUM_ON_ONE_RANK = """\
from nearfetch import *
def main():
    a = BlockArray(10); a.fill(1)
    if rank() == {odd}:
        print(a.{reduction}())
launch(main, ranks=4)
"""


@pytest.fixture(autouse=True)
def native():
    need_native()


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_that_meet_in_different_ones_are_told(ranks):
    import collective_checks  # it needs the native module

    assert nearfetch.launch(collective_checks.main, ranks=ranks) == [[]] * ranks
    assert len(collective_checks.MISMATCHES) > 20


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_and_on_mpi(family, ranks):
    need_family(family)
    said = run([SOURCE / "tests" / "python" / "collective_checks.py"], family, ranks)
    assert said.count("passed") == ranks and not said.replace("passed", "").split(), said


@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_a_collective_against_the_end_of_main(family, tmp_path):
    if family:
        need_family(family)
    program = tmp_path / "main.py"
    for reduction, odd, end, more in (
        ("sum", 0, "ranks 1 to 3", "rank 0"),
        ("max", 3, "ranks 0 to 2", "rank 3"),
    ):
        program.write_text(SUM_ON_ONE_RANK.format(reduction=reduction, odd=odd))
        begin = time.monotonic()
        said = run([program], family, 4, expect=1)
        # Starting four interpreters takes time; without the check it would hang.
        assert time.monotonic() - begin < 30
        assert f"{more} in {reduction} at {program}:5" in said and f"{end} in the end of main" in said
        # One text for all ranks; on threads with the traceback of one.
        assert said.count("ranks meet in different collective functions") == 1
        assert not re.search(r"^[\d.]+$", said, re.MULTILINE)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_that_differ_do_not_wait_for_one_that_does_not_come(family):
    need_family(family)
    program = BUILD / "programs" / family / "collectives_on_mpi"
    if not program.exists():
        pytest.skip("the program is not built")
    launch = mpiexec(family, 3, "shm", without_nearfetch(os.environ))
    env = environment(launch.env, BUILD, 3)
    done = subprocess.run(
        [*launch.argv, program, "missing"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0 and done.stdout.count("told in time") >= 1, done.stdout + done.stderr


def started(program: str, where: Path, family: Optional[str]) -> subprocess.Popen:
    """`program` in two ranks; `ready()` tells that a rank reaches the interrupted call."""
    code = """
        import time
        from pathlib import Path
        import numpy as np
        import nearfetch
        from nearfetch import BlockArray, barrier, compute, launch, rank, ranks
        def ready():
            (Path({where!r}) / str(rank())).touch()
        def main():
            a = BlockArray(10)
            a.sum()
        {body}
        launch(main, ranks=2)
        """
    body = textwrap.indent(textwrap.dedent(program).strip(), "    ")
    source = where / "main.py"
    source.write_text(textwrap.dedent(code).format(where=str(where), body=body))
    env = {**without_nearfetch(os.environ), "NEARFETCH_BUILD": str(BUILD)}
    env["PYTHONPATH"] = str(SOURCE / "python")
    command = [sys.executable, str(source)]
    if family:
        launch = mpiexec(family, 2, "shm", env)
        command, env = [*launch.argv, *command], environment(launch.env, BUILD, 2)
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


WAYS = {
    "barrier": "ready()\nif rank() == 0: time.sleep(1000)\nbarrier()",
    "sleep": "ready()\ntime.sleep(1000)",
    "python": "ready()\nn = 0\nwhile True: n += 1",
    "gets": "ready()\nwhile True: _ = a[9], a[0]",
    "compute": "ready()\ncompute(10**18)",
    "collective": "ready()\nn = 0\nwhile rank() == 0: n += 1\na.max()",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_ctrl_c_ends_it_whatever_the_ranks_are_in(family, way, tmp_path):
    if family:
        need_family(family)
    process = started(WAYS[way], tmp_path, family)
    ends_by_interrupt(process, tmp_path)


def test_a_program_that_handles_ctrl_c_goes_on(tmp_path):
    """On MPI: a rank that handles the interrupt is not ended."""
    family = "mpich"
    need_family(family)
    body = """
        ready()
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            time.sleep(1)
        barrier()
        print("went on", flush=True)
        """
    process = started(body, tmp_path, family)
    while not all((tmp_path / str(rank)).exists() for rank in range(2)):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert said.count("went on") == 2, said
