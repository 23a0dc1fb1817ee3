# SPDX-License-Identifier: Apache-2.0
"""Programs at the top level of a script, and programs on the processes of a communicator."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from launch import environment
from ranks import BUILD, FAMILIES, SOURCE, ends_by_interrupt, need_family, need_native, run

import nearfetch
from nearfetch.mpiexec import mpiexec, without_nearfetch

RANKS = [(None, 1), *((family, ranks) for family in FAMILIES for ranks in (1, 2, 4))]


@pytest.fixture(autouse=True)
def native():
    need_native()


@pytest.fixture
def script(tmp_path):
    """Runs a script, after `init()`, in the ranks of a family."""

    def call(body, family=None, ranks=1, first="import nearfetch as nf; nf.init()", **options):
        if family:
            need_family(family)
        (tmp_path / "script.py").write_text(first + "\n" + textwrap.dedent(body))
        return run([tmp_path / "script.py"], family, ranks, **options)

    return call


@pytest.mark.parametrize(("family", "ranks"), RANKS)
def test_a_script_is_the_program(script, family, ranks):
    said = script(
        """
        a = nf.BlockArray((8, 6), int)
        a.local[...] = nf.rank() + 1
        nf.barrier()
        kept = a.local
        assert a.sum() == nf.allreduce(int(kept.sum()))
        with a.prefetch_stencil(1):
            around, box = a.with_halo(1)
        nf.init()                               # the same again
        if nf.rank() == 0:
            print(nf.ranks(), a[7, 5])
        """,
        family,
        ranks,
    )
    assert said == f"{ranks} {ranks}\n"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("before", [True, False])
def test_mpi4py_beside_it(script, family, before):
    importing = "from mpi4py import MPI\n"
    said = script(
        ("" if before else importing)
        + textwrap.dedent("""
            a = nf.BlockArray(MPI.COMM_WORLD.size, int)
            a.local[...] = MPI.COMM_WORLD.rank
            nf.barrier()
            assert MPI.COMM_WORLD.allreduce(nf.rank()) == a.sum() == 1
            print("passed")
            """),
        family,
        2,
        first=(importing if before else "") + "import nearfetch as nf; nf.init()",
    )
    assert said.count("passed") == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_an_exception_names_its_rank_and_ends_the_job(script, family):
    said = script(
        """
        def fault(): raise ValueError("of rank 1")
        if nf.rank() == 1: fault()
        nf.barrier()
        """,
        family,
        3,
        expect=1,
    )
    assert "nearfetch: rank 1: Traceback" in said and "in fault" in said
    assert said.count("ValueError: of rank 1") == 1


def test_without_mpi_an_exception_is_pythons(script):
    said = script("raise ValueError('alone')", expect=1)
    assert "nearfetch:" not in said and said.endswith("ValueError: alone\n")


@pytest.mark.parametrize(("family", "ranks"), [(None, 1), *((family, 2) for family in FAMILIES)])
@pytest.mark.parametrize("status", [0, 3])
def test_sys_exit(script, family, ranks, status):
    said = script(
        f"import sys\na = nf.BlockArray(4)\nprint('leaves', flush=True)\nsys.exit({status})",
        family,
        ranks,
        expect=status,
    )
    assert said.count("leaves") == ranks and "Traceback" not in said and "nearfetch:" not in said


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_that_leaves_early_is_named(script, family):
    said = script("import sys\nif nf.rank() == 1: sys.exit()\nnf.BlockArray(4)", family, 3, expect=1)
    assert "rank 1 in the end of the program" in said
    assert "ranks 0 and 2 in DistributedArray at " in said and "script.py:4" in said


def test_one_program_after_the_other():
    body = """
        nf.BlockArray(3).fill(1)
        nf.finalize()
        nf.finalize()
        assert nf.launch(nf.ranks, ranks=3, mpi=False) == [3] * 3
        nf.init(cached=False)
        assert nf.BlockArray(3).sum() == 0
        nf.finalize()
        try:
            nf.rank()
        except nf.Error as problem:
            print(problem)
        """
    code = "import nearfetch as nf; nf.init()\n" + textwrap.dedent(body)
    expected = (
        "this thread is no rank (ranks run what launch() is given, or what follows init()): "
        "call nearfetch.init() first, or call this in the function for launch()\n"
    )
    assert run(["-c", code]) == expected
    for family in FAMILIES:
        need_family(family)
        assert run(["-c", code], family, 2) == 2 * expected


def test_wrong_calls_are_named():
    code = """
        import threading
        import nearfetch as nf
        nf.init(mpi=False)
        def wrong(call):
            try:
                call()
            except nf.Error as problem:
                print(problem)
        wrong(lambda: nf.launch(nf.rank))
        wrong(lambda: nf.init(cached=False, mpi=False))
        wrong(lambda: nf.init(cache={"pages": 1}))
        wrong(lambda: nf.init(comm=3))
        for call in (nf.finalize, lambda: nf.init(cached=False)):
            thread = threading.Thread(target=wrong, args=(call,))
            thread.start()
            thread.join()
        nf.finalize()
        wrong(lambda: nf.init(comm=3))
        wrong(lambda: nf.launch(nf.rank, comm="world"))
        wrong(lambda: nf.launch(nf.rank, comm=3, mpi=False))
        nf.launch(lambda: wrong(nf.init))
        """
    said = run(["-c", textwrap.dedent(code)]).splitlines()
    words = [
        "launch (a rank of a program called it",
        "init (this thread is a rank already): call it once, or finalize() before",
        "setting 'pages'",
        "init (this thread is a rank already)",
        "finalize (it was not this thread that called init)",
        "init (another thread of this process has called it)",
        "comm=3 (it says which processes are the ranks): use an intracommunicator of mpi4py",
        "comm='world' (it says",
        "mpi=False with comm=",
        "init (a rank that launch() runs called it): leave it out",
    ]
    assert len(said) == len(words)
    for line, word in zip(said, words):
        assert word in line


@pytest.mark.parametrize("family", FAMILIES)
def test_a_view_that_mpi_would_take_back_is_named(script, family):
    said = script("view = nf.BlockArray(10).local\nnf.finalize()", family, 2, expect=1)
    assert "a view of an array's local part outlives its program" in said


def test_a_copy_of_the_process_does_not_end_the_program(script):
    said = script(
        """
        import os, sys
        child = os.fork()
        if child == 0: sys.exit()
        assert os.waitpid(child, 0)[1] == 0
        print(nf.ranks())
        """,
        "mpich",
        1,
    )
    assert said == "1\n"


COMMUNICATORS = """
import os
os.environ["OMPI_MCA_osc_rdma_priority"] = "90"         # as docs/python-programs.md says
import nearfetch as nf
from mpi4py import MPI
world = MPI.COMM_WORLD

def total(of):
    a = nf.BlockArray(6, int)
    a.local[...] = of
    nf.barrier()
    return nf.rank(), nf.ranks(), int(a.sum())

half = world.Split(world.rank % 2, -world.rank)         # two programs at once, in another order of ranks
((rank, ranks, sum),) = nf.launch(total, args=(world.rank % 2,), comm=half)
assert (rank, ranks, sum) == (half.rank, 2, 6 * (world.rank % 2))

three = world.Split(0 if world.rank else MPI.UNDEFINED, 0)
result = nf.launch(total, args=(1,), comm=three)
assert result == ([(world.rank - 1, 3, 6)] if world.rank else []), result

assert nf.launch(total, args=(1,), comm=world) == nf.launch(total, args=(1,)) == [(world.rank, 4, 6)]

def nested():
    try:
        nf.launch(total, args=(1,), comm=half)
    except nf.Error as problem:
        return str(problem)
assert "where no rank runs" in nf.launch(nested, comm=half)[0]

if world.rank:
    nf.init(comm=three)
    nf.init(comm=three)
    assert (nf.rank(), nf.ranks()) == (three.rank, 3)
    nf.finalize()
else:
    try:
        nf.init(comm=three)
    except nf.Error as problem:
        assert "init with COMM_NULL" in str(problem)
nf.init(comm=half)
assert nf.allreduce(world.rank) == 2 + 2 * (world.rank % 2)
print("passed")
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_communicators(tmp_path, family):
    need_family(family)
    (tmp_path / "main.py").write_text(COMMUNICATORS)
    assert run([tmp_path / "main.py"], family, 4).count("passed") == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_of_a_communicator_is_named_with_both_numbers(tmp_path, family):
    need_family(family)
    (tmp_path / "main.py").write_text(
        textwrap.dedent("""
            import os
            os.environ["OMPI_MCA_osc_rdma_priority"] = "90"
            import nearfetch as nf
            from mpi4py import MPI
            half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank // 2, 0)
            def main():
                if MPI.COMM_WORLD.rank == 3: raise ValueError("of one")
                nf.barrier()
            nf.launch(main, comm=half)
            MPI.COMM_WORLD.Barrier()
            """)
    )
    said = run([tmp_path / "main.py"], family, 4, expect=1)
    assert "nearfetch: rank 1 of the communicator (3 of MPI_COMM_WORLD): Traceback" in said


def test_programs_at_once_in_one_process_are_refused(tmp_path):
    need_family("mpich")
    (tmp_path / "main.py").write_text(
        textwrap.dedent("""
            import threading
            import nearfetch as nf
            from mpi4py import MPI
            def main():
                def again():
                    try:
                        nf.launch(nf.rank, comm=MPI.COMM_SELF)
                    except nf.Error as problem:
                        said.append(str(problem))
                said = []
                thread = threading.Thread(target=again)
                thread.start()
                thread.join()
                return said
            print(nf.launch(main, comm=MPI.COMM_SELF))
            """)
    )
    said = run([tmp_path / "main.py"], "mpich", 1)
    assert "it can be in one at a time): let one follow the other, or use communicators" in said


@pytest.mark.parametrize("waits", ["nf.barrier()", "time.sleep(1000)"])
@pytest.mark.parametrize("family", FAMILIES)
def test_ctrl_c(family, waits, tmp_path):
    need_family(family)
    (tmp_path / "main.py").write_text(
        textwrap.dedent(f"""
            import pathlib, time
            import nearfetch as nf
            nf.init()
            pathlib.Path({str(tmp_path)!r}, str(nf.rank())).touch()
            if nf.rank() == 0: time.sleep(1000)
            {waits}
            """)
    )
    launch = mpiexec(family, 2, "shm", without_nearfetch(os.environ))
    env = environment({**launch.env, "NEARFETCH_BUILD": str(BUILD)}, BUILD, 2)
    process = subprocess.Popen(
        [*launch.argv, sys.executable, tmp_path / "main.py"],
        env={**env, "PYTHONPATH": str(SOURCE / "python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    ends_by_interrupt(process, tmp_path)


def test_the_functions_are_there():
    assert {"init", "finalize", "allreduce", "bcast", "gather"} <= set(dir(nearfetch))
