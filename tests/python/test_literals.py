# SPDX-License-Identifier: Apache-2.0
"""Literals that several threads read at once."""

from __future__ import annotations

import gc
import threading
from typing import Any, Callable

import pytest
from ranks import need_native

np = pytest.importorskip("numpy")


def readers(path) -> dict[str, Callable[[], Any]]:
    """Texts of ours, and the headers that numpy reads: of files, and of values that move."""
    from nearfetch import collectives, formats, literals

    header = "{'shape': (3, 4), 'descr': '<f8'}"
    np.save(path, np.zeros((3, 4)))
    packed = memoryview(collectives._packed(np.zeros(3)))

    def open_file() -> None:
        with formats.Npy(str(path)).open():
            pass

    return {
        "text": lambda: literals.read_literal(header),
        "file": open_file,
        "value": lambda: collectives._unpacked("gather", 0, packed),
    }


@pytest.mark.parametrize("other", ["text", "file", "value"])
@pytest.mark.parametrize("first", ["text", "file", "value"])
def test_one_thread_reads_at_a_time(first, other, tmp_path):
    """A garbage collection while `first` builds its literal lets another thread run."""
    need_native()
    read = readers(tmp_path / "array.npy")
    threads, before = [], gc.get_threshold()

    def run_another(phase: str, info: object) -> None:
        thread = threading.Thread(target=read[other])
        thread.start()
        threads.append(thread)
        thread.join(0.005)

    gc.callbacks.append(run_another)
    gc.set_threshold(1, 1000, 1000)
    try:
        read[first]()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(run_another)
        for thread in threads:
            thread.join()
    assert threads
