# SPDX-License-Identifier: Apache-2.0
"""How tests and benchmarks start ranks, and how tests/launch.py ends them."""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from nearfetch import NearfetchError
from nearfetch.mpiexec import launcher_of, mpiexec, nearfetch_run, without_nearfetch

TESTS = Path(__file__).resolve().parents[1]


def load_test_launcher():
    spec = importlib.util.spec_from_file_location("test_launcher", TESTS / "launch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_open_mpi_over_shared_memory(launchers):
    launch = mpiexec("openmpi", 4, environ={}, launcher=str(launchers["openmpi"]))
    assert launch.argv == [str(launchers["openmpi"]), "--oversubscribe", "--bind-to", "none", "-n", "4"]
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in launch.env) == (os.geteuid() == 0)


def test_open_mpi_over_tcp_names_its_one_sided_component(launchers):
    env = mpiexec("openmpi", 2, "tcp", {}, str(launchers["openmpi"])).env
    wanted = {"pml": "ob1", "btl": "tcp,self", "osc": "pt2pt", "btl_tcp_if_include": "lo"}
    assert {name: env[f"OMPI_MCA_{name}"] for name in wanted} == wanted


def test_mpich_is_told_by_variables(launchers):
    launch = mpiexec("mpich", 2, "tcp", {}, str(launchers["mpich"]))
    assert launch.argv == [str(launchers["mpich"]), "-n", "2"]
    assert launch.env["FI_PROVIDER"] == "tcp"
    assert launch.env["MPIR_CVAR_NOLOCAL"] == "1"
    assert mpiexec("mpich", 2, "shm", {}, str(launchers["mpich"])).env == {}


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_bound_ranks_stay_on_one_core_each_and_share_them_evenly(family):
    try:
        launch = mpiexec(family, 4, bound=True)
    except NearfetchError as missing:
        pytest.skip(str(missing))
    cores = sorted(os.sched_getaffinity(0))
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    words = [*launch.argv, sys.executable, "-c", script]
    run = subprocess.run(words, env=launch.env, capture_output=True, text=True, check=True, timeout=60)
    # Output of several ranks may share a line.
    ranks = collections.Counter(re.findall(r"\[.*?\]", run.stdout))
    assert sum(ranks.values()) == 4
    assert set(ranks) <= {f"[{core}]" for core in cores}
    assert len(ranks) == min(4, len(cores))


def test_no_two_tests_share_a_session_directory_of_open_mpi():
    build = os.environ.get("NEARFETCH_BUILD", TESTS.parent / "build" / "release")
    command = ["ctest", "--test-dir", build, "--show-only=json-v1"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    starting = re.compile(r"(launch|litmus_coverage|same_answers|mpi4py_suite)\.py .*openmpi|-m pytest")
    tests = [
        test for test in json.loads(listing)["tests"] if starting.search(" ".join(test.get("command", [])))
    ]
    sessions = set(re.findall(r'"OMPI_MCA_orte_tmpdir_base=(.*?)"', json.dumps(tests)))
    assert len(sessions) == len(tests) > 0


def test_unknown_families_and_networks_are_errors(launchers):
    with pytest.raises(ValueError, match="family"):
        mpiexec("lam", 1)
    with pytest.raises(ValueError, match="network"):
        mpiexec("mpich", 1, "leader pigeon", {}, str(launchers["mpich"]))


def test_a_launcher_of_the_other_family_is_not_taken(launchers, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path / "mpich"))
    monkeypatch.setattr("nearfetch.mpiexec.__file__", str(tmp_path / "a" / "b" / "mpiexec.py"))
    assert launcher_of("mpich", {"PATH": str(tmp_path)}) == str(launchers["mpich"])
    with pytest.raises(NearfetchError, match="Open MPI"):
        launcher_of("openmpi", {"PATH": str(launchers["mpich"].parent)})


def test_nearfetch_stands_before_the_launch(tmp_path):
    words = nearfetch_run(tmp_path, "off", {"buffer_bytes": "4MiB"}, tmp_path / "out", "mpich")
    assert words == [
        *(sys.executable, str(tmp_path / "bin" / "nearfetch"), "run", "--mode", "off"),
        *("--set", "buffer_bytes=4MiB", "--stats", str(tmp_path / "out"), "--mpi", "mpich", "--"),
    ]


def test_settings_can_be_left_behind():
    environ = {"NEARFETCH_MODE": "off", "NEARFETCH_BUILD": "b", "HOME": "/"}
    assert without_nearfetch(environ) == {"HOME": "/"}


def test_exit_codes_and_signals_are_reported():
    launcher = load_test_launcher()
    env = {**os.environ, "NF_TEST_RUN": uuid.uuid4().hex}
    assert launcher.run(["sh", "-c", "exit 3"], env, 10) == 3
    assert launcher.run(["sh", "-c", "kill -SEGV $$"], env, 10) == 128 + 11


def test_at_the_time_limit_nothing_is_left(tmp_path):
    launcher = load_test_launcher()
    env = {**os.environ, "NF_TEST_RUN": uuid.uuid4().hex}
    started = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 100' & sleep 100"
    assert launcher.run(["sh", "-c", started], env, 0.5) == 124
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still there")
