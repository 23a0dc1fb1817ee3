# SPDX-License-Identifier: Apache-2.0
"""Programs launched from Python: how they end, and what outlives them."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from ranks import BUILD, FAMILIES, need_family, need_native, run

import nearfetch


@pytest.fixture(autouse=True)
def native():
    need_native()


def test_the_command_line_needs_neither_numpy_nor_the_native_module():
    loaded = "[name for name in ('numpy', 'nearfetch._native', 'nearfetch.arrays') if name in sys.modules]"
    assert run(["-S", "-c", f"import sys, nearfetch.cli; print({loaded}, nearfetch.__version__)"]) == (
        f"[] {nearfetch.__version__}\n"
    )
    with pytest.raises(AttributeError, match="no attribute 'cache'"):
        _ = nearfetch.cache
    assert {"launch", "BlockArray", "Window"} <= set(dir(nearfetch))


def test_the_stub_of_the_native_module_is_python():
    stub = ast.parse((BUILD / "python" / "nearfetch" / "_native.pyi").read_text(encoding="utf-8"))
    names = {each.name for each in stub.body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
    assert {"Array", "Gather", "Sparse", "launch_threads"} <= names


def test_a_module_for_another_python_is_named(tmp_path):
    (tmp_path / "python" / "nearfetch").mkdir(parents=True)
    (tmp_path / "python" / "nearfetch" / "_native.cpython-27.so").write_text("")
    code = f"import os\nos.environ['NEARFETCH_BUILD'] = {str(tmp_path)!r}\nimport nearfetch\nnearfetch.launch"
    said = run(["-c", code], expect=1)
    assert "(its native module is for another Python: _native.cpython-27.so): install nearfetch" in said


def test_without_numpy_there_is_a_clear_message(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('none')\n")
    said = run(
        ["-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import nearfetch; nearfetch.BlockArray"],
        expect=1,
    )
    assert "nearfetch.errors.Error: nearfetch's arrays are not here (numpy is missing" in said


def test_results_and_arguments():
    assert nearfetch.launch(lambda *args: (nearfetch.rank(), args), 3, args=(5, "x")) == [
        (0, (5, "x")),
        (1, (5, "x")),
        (2, (5, "x")),
    ]


def test_the_exception_of_the_rank_that_failed_travels():
    def main():
        if nearfetch.rank() == 1:
            raise KeyError("of rank 1")
        nearfetch.barrier()

    for _ in range(3):
        with pytest.raises(KeyError, match="of rank 1"):
            nearfetch.launch(main, ranks=3)


def test_a_rank_that_ends_early_is_named():
    def main():
        if nearfetch.rank() == 0:
            nearfetch.barrier()

    with pytest.raises(nearfetch.Error, match="rank 0 in barrier at .*; rank 1 in the end of main"):
        nearfetch.launch(main, ranks=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ranks": 0}, "at least one rank"),
        ({"ranks": 2**31 - 1}, "2147483647 ranks as threads of this process .it can have at most"),
        ({"ranks": 2.5}, "ranks is 2.5 .it is a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"cached": "yes"}, "cached is 'yes' .it is True or False"),
        ({"network": 3}, "network is 3 .it is a word"),
        ({"cache": {"capacity_bytes": "4MiB"}}, "capacity_bytes is '4MiB'"),
        ({"network": "string"}, "network string"),
        ({"cache": {"pages": 3}}, "setting 'pages' .there is none of that name.: use one of capacity_bytes"),
        ({"cache": {"page_bytes": 100}}, "page_bytes"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(nearfetch.Error, match=words):
        nearfetch.launch(lambda: None, **options)


def test_ranks_that_disagree_are_named():
    def shapes():
        nearfetch.BlockArray(10 + nearfetch.rank())

    def dtypes():
        nearfetch.BlockArray(10, "f8" if nearfetch.rank() else "i8")

    def patterns():
        nearfetch.BlockArray(10).prefetch_stencil(1 + nearfetch.rank())

    def different_patterns():
        array = nearfetch.BlockArray(10)
        array.prefetch_row_wise() if nearfetch.rank() else array.prefetch_column_wise()

    for main, words in (
        (shapes, "same arguments"),
        (dtypes, "another dtype"),
        (patterns, "same arguments"),
        (different_patterns, "rank 0 in prefetch_column_wise at .*; rank 1 in prefetch_row_wise at "),
    ):
        with pytest.raises(nearfetch.Error, match=words):
            nearfetch.launch(main, ranks=2)


def test_functions_of_ranks_are_refused_elsewhere():
    for call in (nearfetch.rank, nearfetch.barrier, nearfetch.statistics, lambda: nearfetch.BlockArray(3)):
        with pytest.raises(nearfetch.Error, match="launch"):
            call()


def test_arrays_and_views_may_be_kept():
    def main():
        array = nearfetch.BlockArray(10, int)
        array.local[...] = nearfetch.rank()
        nearfetch.barrier()
        gathered = array.gather([9, 0])
        gathered.update()
        return array, array.local, gathered

    results = nearfetch.launch(main, ranks=2)
    assert [view.tolist() for _, view, _ in results] == [[0] * 5, [1] * 5]
    assert [gathered.elements.tolist() for _, _, gathered in results] == [[0, 1]] * 2
    for use in (lambda: results[0][0][1], results[0][2].update):
        with pytest.raises(nearfetch.Error, match="whose program has ended"):
            use()


def test_another_thread_cannot_use_a_ranks_array():
    def main():
        array = nearfetch.BlockArray(4)
        gathered = array.gather([0])
        said = []

        def use():
            for call in (lambda: array[0], lambda: array.gather([0]), gathered.update):
                try:
                    call()
                except nearfetch.Error as problem:
                    said.append(str(problem))

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        return said

    (said,) = nearfetch.launch(main)
    assert ["that is another thread" in words for words in said] == [True] * 3


def test_arrays_that_python_drops_give_their_prefetched_memory_back():
    def main():
        kept = nearfetch.BlockArray(1000)
        for _ in range(3):
            array = nearfetch.BlockArray(1000)
            array.prefetch_all_to_all(consistent=False)
        entries = nearfetch.statistics()["prefetch_entries"]
        del array
        kept.sum()
        return entries, nearfetch.statistics()["prefetch_entries"]

    assert nearfetch.launch(main, ranks=2) == [(1, 0), (1, 0)]


def test_a_gather_keeps_its_array():
    def main():
        array = nearfetch.BlockArray(1000)
        array.prefetch_all_to_all(consistent=False)
        gathered = array.gather([0, 999])
        del array
        gathered.update()
        entries = nearfetch.statistics()["prefetch_entries"]
        del gathered
        return entries, nearfetch.statistics()["prefetch_entries"]

    assert nearfetch.launch(main, ranks=2) == [(1, 0), (1, 0)]


def test_arrays_that_another_thread_drops_end_in_their_own():
    boxes = []
    dropped = threading.Event()

    def main():
        array = nearfetch.BlockArray(1000)
        array.prefetch_all_to_all(consistent=False)
        if nearfetch.rank() == 0:
            boxes.append(array)
        del array
        nearfetch.barrier()
        if nearfetch.rank() == 1:
            boxes.clear()
            dropped.set()
        dropped.wait()
        before = nearfetch.statistics()["prefetch_entries"]
        nearfetch.BlockArray(10)
        return before, nearfetch.statistics()["prefetch_entries"]

    assert nearfetch.launch(main, ranks=2) == [(1, 0), (0, 0)]


@pytest.mark.parametrize("waiting", [True, False])
def test_ctrl_c_ends_the_program(waiting):
    started = threading.Event()

    def main():
        array = nearfetch.BlockArray(10)
        started.set()
        while nearfetch.rank() == 0 or not waiting:
            _ = array[9]
        nearfetch.barrier()

    def interrupt():
        started.wait()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        nearfetch.launch(main, ranks=3)
    thread.join()
    assert nearfetch.launch(nearfetch.rank, ranks=2) == [0, 1]


def test_virtual_time_is_the_same_in_every_run():
    def main():
        array = nearfetch.BlockArray(100)
        before = nearfetch.statistics()["get_messages"]
        total = 0.0
        for index in range(100):
            total += array[index]
        nearfetch.compute(1000)
        return nearfetch.now_ns(), nearfetch.statistics()["get_messages"] - before

    options = {"ranks": 3, "network": "aries", "virtual_time": True, "jitter_ns": 100, "seed": 7}
    first, second = nearfetch.launch(main, **options), nearfetch.launch(main, **options)
    assert first == second and first[0][0] > 1000
    uncached = nearfetch.launch(main, **options, cached=False)
    assert [messages for _, messages in uncached] == [66, 67, 67]
    assert all(messages < 20 for _, messages in first)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_exception_ends_an_mpi_job(family, tmp_path):
    need_family(family)
    (tmp_path / "main.py").write_text(
        textwrap.dedent("""
            import nearfetch
            def fault(): raise ValueError("of rank 1")
            def main():
                if nearfetch.rank() == 1: fault()
                nearfetch.barrier()
            nearfetch.launch(main)
            """)
    )
    said = run([tmp_path / "main.py"], family, 2, expect=1)
    assert "nearfetch: rank 1: Traceback" in said and "in fault" in said and "ValueError: of rank 1" in said


@pytest.mark.parametrize("family", FAMILIES)
def test_several_launches_with_mpi4py_first_or_last(family, tmp_path):
    need_family(family)
    program = """
        import nearfetch
        {first}
        def main():
            a = nearfetch.BlockArray(4 * nearfetch.ranks(), int)
            a.local[...] = nearfetch.rank()
            nearfetch.barrier()
            return int(a.sum())
        assert nearfetch.launch(main) == nearfetch.launch(main, ranks=17) == [4]
        assert nearfetch.launch(main, ranks=3, mpi=False) == [12] * 3
        from mpi4py import MPI
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        assert MPI.COMM_WORLD.allreduce(1) == 2
        print("passed")
        """
    for number, first in enumerate(("", "from mpi4py import MPI")):
        script = tmp_path / f"{number}.py"
        script.write_text(textwrap.dedent(program.format(first=first)))
        assert run([script], family, 2).count("passed") == 2


def test_threads_that_open_mpi_refuses_are_named(tmp_path):
    need_family("openmpi")
    script = tmp_path / "tcp.py"
    for first, last in (("", "from mpi4py import MPI"), ("from mpi4py import MPI", "")):
        script.write_text(f"{first}\nimport nearfetch\nprint(nearfetch.launch(nearfetch.ranks))\n{last}\n")
        said = run([script], "openmpi", 2, network="tcp", expect=1 if first else 0)
        assert ("pt2pt refuses MPI_THREAD_MULTIPLE): let nearfetch start" in said) == bool(first)
        assert said.count("[2]") == (0 if first else 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_view_that_mpi_would_take_back_is_named(family, tmp_path):
    need_family(family)
    (tmp_path / "main.py").write_text(
        "import nearfetch\nnearfetch.launch(lambda: nearfetch.BlockArray(10).local)\n"
    )
    said = run([tmp_path / "main.py"], family, 2, expect=1)
    assert "a view of an array's local part outlives its program" in said


@pytest.mark.parametrize("family", FAMILIES)
def test_views_that_nobody_refers_to_end_with_the_program(family, tmp_path):
    """Also those that wait for Python's collection of cycles, as in the frames of an error."""
    need_family(family)
    (tmp_path / "main.py").write_text(
        textwrap.dedent(
            """
            import nearfetch

            def kept_error(array):
                own = array.local
                try:
                    array[10**6]
                except IndexError as error:
                    kept = error
                return own.size

            def main():
                views = [nearfetch.BlockArray(10).local]
                views.append(views)
                kept_error(nearfetch.BlockArray(10))
                print("passed")

            nearfetch.launch(main)
            nearfetch.init()
            main()
            nearfetch.finalize()
            """
        )
    )
    assert run([tmp_path / "main.py"], family, 2).count("passed") == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_window_comes_before_mpi4py(family, tmp_path):
    need_family(family)
    (tmp_path / "late.py").write_text("from mpi4py import MPI\nimport nearfetch\nnearfetch.Window\n")
    said = run([tmp_path / "late.py"], family, 1, expect=1)
    assert "import nearfetch.Window first, or start the program by `nearfetch run" in said


def test_mpi_without_a_launcher_is_one_rank():
    need_family("mpich")
    code = "import nearfetch; print(nearfetch.launch(nearfetch.ranks, ranks=7, mpi=True))"
    assert run(["-c", code]) == "[1]\n"


def test_a_process_without_launcher_is_one_rank(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import nearfetch; print(nearfetch.launch(nearfetch.ranks))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1]\n"
