# SPDX-License-Identifier: Apache-2.0
"""Notebooks: the example prints what stands in it, and a kernel goes on after an interrupt."""

from __future__ import annotations

import os
import textwrap
import time
from typing import Any, Iterator

import pytest
from ranks import BUILD, SOURCE, need_native

from nearfetch.mpiexec import without_nearfetch

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

_WAIT_S = 60


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    need_native()
    for name in set(os.environ) - set(without_nearfetch(os.environ)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("NEARFETCH_BUILD", str(BUILD))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE / "python"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


class Kernel:
    """A kernel of Jupyter, and what its cells print."""

    def __init__(self, client: Any, manager: Any) -> None:
        self.client = client
        self.manager = manager

    def start(self, code: str) -> str:
        """Starts a cell; returns the number of its request."""
        return self.client.execute(textwrap.dedent(code))

    def printed(self, cell: str, until: str = "") -> str:
        """What the cell prints, up to its end or to that text."""
        text, end = "", time.monotonic() + _WAIT_S
        while not (until and until in text):
            assert time.monotonic() < end, text
            message = self.client.get_iopub_msg(timeout=_WAIT_S)
            if message["parent_header"].get("msg_id") != cell:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                text += content["text"]
            elif kind == "error":
                text += f"{content['ename']}: {content['evalue']}\n"
            elif kind == "status" and content["execution_state"] == "idle":
                break
        return text

    def run(self, code: str) -> str:
        """Runs a cell; returns what it prints, with its error."""
        return self.printed(self.start(code))


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    manager = jupyter_client.KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=_WAIT_S)
        yield Kernel(client, manager)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_the_example_prints_what_stands_in_it():
    path = SOURCE / "examples" / "heat.ipynb"
    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    expected = [cell.outputs for cell in kept.cells if cell.cell_type == "code"]
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=_WAIT_S, kernel_name="python3").execute()
    seen = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert seen == expected and any(expected)


def test_functions_prints_and_the_event_loop(kernel):
    assert (
        kernel.run(
            """
            import asyncio, nearfetch as nf
            offset = 10
            def main():
                print(f"rank {nf.rank()}\\n", end="")
                a = nf.BlockArray(6, int)
                a.local[...] = offset + nf.rank()
                nf.barrier()
                return int(a.sum())
            """
        )
        == ""
    )
    said = kernel.run("print(nf.launch(main, ranks=3), end='')")
    assert sorted(said.splitlines()) == ["[66, 66, 66]", "rank 0", "rank 1", "rank 2"]
    said = kernel.run("await asyncio.sleep(0); print(nf.launch(nf.rank, ranks=2))")
    assert said == "[0, 1]\n"
    said = kernel.run("def fault(): raise ValueError(nf.rank())\nnf.launch(fault, ranks=1)")
    assert said == "ValueError: 0\n"


@pytest.mark.parametrize("body", ["while True: n += 1", "nf.barrier()", "time.sleep(1)"])
def test_an_interrupt_leaves_the_kernel_alive(kernel, body):
    kernel.run("import time, nearfetch as nf\nkept = 5")
    cell = kernel.start(
        f"""
        def main():
            n = 0
            print("begun\\n", end="", flush=True)
            while nf.rank() == 0: n += 1
            while True:
                {body}
        nf.launch(main, ranks=3)
        """
    )
    kernel.printed(cell, until=3 * "begun\n")
    kernel.manager.interrupt_kernel()
    assert "KeyboardInterrupt: " in kernel.printed(cell)
    assert kernel.run("print(kept, nf.launch(nf.rank, ranks=3))") == "5 [0, 1, 2]\n"


def test_cells_of_one_rank(kernel):
    kernel.run("import nearfetch as nf\nnf.init()\na = nf.BlockArray(3, int)")
    assert "ValueError: x" in kernel.run("a.fill(2)\nraise ValueError('x')")
    assert kernel.run("nf.init()\nprint(a.sum(), nf.ranks())") == "6 1\n"
    assert "call finalize() first" in kernel.run("nf.launch(nf.rank, ranks=2)")
    assert kernel.run("nf.finalize()\nprint(nf.launch(nf.rank, ranks=2))") == "[0, 1]\n"
