# SPDX-License-Identifier: Apache-2.0
"""Two nodes that have each other over a network only: two network namespaces, joined by a virtual cable."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch import environment, run_quietly

from nearfetch.mpiexec import mpiexec, nearfetch_run, without_nearfetch

BUILD = Path(os.environ["NEARFETCH_BUILD"])
FAMILIES = [name for name in ("mpich", "openmpi") if (BUILD / "programs" / name / "lcc").exists()]
GRAPH = Path(__file__).resolve().parents[2] / "data" / "musae-github-edges.csv.gz"
CABLE = "nearfetch0"
"""The name of both of its ends."""
ADDRESSES = ("10.213.77.1", "10.213.77.2")

AGENT = """#!/bin/sh
# As rsh: HOST COMMAND... runs the command in the namespace of the host.
while [ "${{1#-}}" != "$1" ]; do shift; done
case "$1" in {first}) name={names[0]} ;; *) name={names[1]} ;; esac
shift
exec ip netns exec "$name" sh -c "$*"
"""


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def wait_for_link(name: str) -> None:
    """The system takes a second to see that a cable has a second end."""
    for _ in range(100):
        if " state UP " in ip("-n", name, "link", "show", CABLE):
            return
        time.sleep(0.1)
    pytest.fail(f"the cable in {name} does not come up")


@pytest.fixture(scope="module")
def names() -> Iterator[tuple[str, str]]:
    """Of the two namespaces."""
    both = (f"nearfetch-{os.getpid()}-a", f"nearfetch-{os.getpid()}-b")
    try:
        try:
            for name in both:
                ip("netns", "add", name)
            ip("link", "add", CABLE, "netns", both[0], "type", "veth", "peer", CABLE, "netns", both[1])
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"this system makes no network namespaces: {error}")
        for name, address in zip(both, ADDRESSES):
            ip("-n", name, "address", "add", f"{address}/24", "dev", CABLE)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", CABLE, "addrgenmode", "none", "up")  # no addresses of IPv6
        for name in both:
            wait_for_link(name)
        yield both
    finally:
        for name in both:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def launch_words(family: str, agent: Path) -> list[str]:
    """A launcher of two ranks in each namespace."""
    if family == "mpich":
        return ["-launcher", "ssh", "-launcher-exec", str(agent), "-hosts", ",".join(ADDRESSES), "-ppn", "2"]
    hosts = ",".join(f"{address}:2" for address in ADDRESSES)
    # By itself Open MPI 4.1 crashes where ranks of a node use shared memory, and those of another one TCP.
    words = "--mca pml ob1 --mca btl tcp,self --mca osc pt2pt --bind-to none"
    interfaces = f"--mca btl_tcp_if_include {CABLE} --mca oob_tcp_if_include {CABLE}"
    return ["--mca", "plm_rsh_agent", str(agent), "--host", hosts, *words.split(), *interfaces.split()]


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_of_a_namespace_share(family: str, names: tuple[str, str], tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text(AGENT.format(first=ADDRESSES[0], names=names), encoding="utf-8")
    agent.chmod(0o755)
    launch = mpiexec(family, 4, "shm", without_nearfetch(os.environ))
    env = environment(launch.env, BUILD, 4)
    env.update(FI_PROVIDER="tcp", FI_TCP_IFACE=CABLE, MPIR_CVAR_CH4_NETMOD="ofi")
    program = [str(BUILD / "programs" / family / "lcc"), str(GRAPH), "--max-vertices", "100"]
    job = [launch.argv[0], *launch_words(family, agent), "-n", "4", *program]
    inside = ["ip", "netns", "exec", names[0]]

    results, messages = {}, {}
    for node_buffer_bytes in (None, 0, 1 << 26):
        words = [*job, "--json", str(tmp_path / "result.json")]
        if node_buffer_bytes is not None:
            settings = {"bypass": "off", "node_ranks": 2, "node_buffer_bytes": node_buffer_bytes}
            words = nearfetch_run(BUILD, "acquire", settings, tmp_path / "stats", family) + words
        done = run_quietly([*inside, *words], env)
        assert done.returncode == 0, done.stdout + done.stderr
        results[node_buffer_bytes] = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        if node_buffer_bytes is not None:
            ranks = [json.loads(path.read_text()) for path in (tmp_path / "stats").glob("rank-*.json")]
            windows = [window for rank in ranks for window in rank["windows"]]
            messages[node_buffer_bytes] = sum(each["gets"] - each["hits"] for each in windows)
            assert (sum(each["node_hits"] for each in windows) > 0) == (node_buffer_bytes != 0)
    same = ("average", "closed_pairs", "remote_gets", "remote_bytes")
    for result in results.values():
        assert {name: result[name] for name in same} == {name: results[None][name] for name in same}
    assert messages[1 << 26] < messages[0]
