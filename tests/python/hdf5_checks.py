# SPDX-License-Identifier: Apache-2.0
"""HDF5 files that all ranks write, by an h5py with MPI or what pretends to be one.

mpiexec python hdf5_checks.py FOLDER [WHERE]      # where the h5py with MPI is installed

One for Debian's MPICH takes some minutes and no root. Its libraries, with the name that mpi4py knows:

    mkdir h5 && cd h5
    apt-get download libhdf5-mpich-103-1 libhdf5-mpich-hl-100 libhdf5-mpich-dev libaec0 libsz2
    for package in *.deb; do dpkg -x $package files; done
    libraries=$PWD/files/usr/lib/x86_64-linux-gnu
    ln -s /usr/lib/x86_64-linux-gnu/libmpich.so.12 $libraries/libmpi.so.12
    export LD_LIBRARY_PATH=$libraries

h5py, in the Python that has numpy and mpi4py:

    pip install --target tools cython pkgconfig "setuptools<81" wheel
    export PYTHONPATH=$PWD/tools HDF5_MPI=ON CC=mpicc.mpich LDFLAGS="-Wl,-rpath-link,$libraries"
    export HDF5_LIBDIR=$libraries/hdf5/mpich HDF5_INCLUDEDIR=$PWD/files/usr/include/hdf5/mpich
    pip install --target site --no-cache-dir --no-deps --no-build-isolation --no-binary=h5py h5py

The test then runs with NEARFETCH_H5PY_MPI=$PWD/site, MPI4PY_MPIABI=mpich and
MPI4PY_LIBMPI=/usr/lib/x86_64-linux-gnu/libmpich.so.12.
"""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = sys.argv[2:3]

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from array_checks import arrays, same, values  # noqa: E402

from nearfetch import BlockArray, CyclicArray, Error, barrier, boxes, formats, launch, load, rank, ranks, save  # noqa: E402

PLAIN = h5py.File
opened = 0


class ParallelFile:
    """Asserts what h5py's driver mpio asks of programs. Rank 0 writes for all when they close the file."""

    def __init__(self, path, mode, comm):
        global opened
        asked = comm.allgather((path, mode))
        assert set(asked) == {(path, "r+")} and len(asked) == ranks(), asked
        self.path, self.comm, self.writes = path, comm, []
        opened += 1

    def __enter__(self):
        return self

    def __getitem__(self, name):
        return ParallelDataset(self, name)

    def __exit__(self, *exception):
        everyones = self.comm.gather(self.writes)
        has_failed = any(self.comm.allgather(exception[0] is not None))
        if self.comm.rank == 0:
            with PLAIN(self.path, "r+") as file:
                for name in {name for writes in everyones for name, _, _ in writes}:
                    times = np.zeros(file[name].shape, int)
                    for writes in everyones:
                        for _, where, written in writes:
                            times[where] += 1
                            file[name][where] = written
                    assert has_failed or (times == 1).all(), "each element is written once"
        self.comm.Barrier()


class ParallelDataset:
    """A dataset of such a file."""

    def __init__(self, file, name):
        self.file, self.name = file, name

    def __setitem__(self, where, written):
        extents = tuple(part.stop - part.start for part in where)
        assert extents == written.shape and written.flags.c_contiguous
        self.file.writes.append((self.name, where, written.copy()))


def file_by(path, mode="r", driver=None, comm=None):
    """In place of h5py.File."""
    if driver is None:
        return PLAIN(path, mode)
    assert driver == "mpio"
    return ParallelFile(path, mode, comm)


def pretend():
    """Lets h5py say that it has MPI."""
    h5py.get_config = lambda: SimpleNamespace(mpi=True)
    h5py.File = file_by


def main(folder):
    """Every rank writes its share, of contiguous and of chunked datasets, also over an old one."""
    for number, (shape, dtype) in enumerate(
        (((7, 5), "f8"), ((13,), ">i4"), ((3, 4, 5), "c16"), ((0,), "i2"))
    ):
        model = values(shape, dtype)
        for array in arrays(shape, dtype):
            array.local[...] = model[np.ix_(*array.local_indices)]
            for chunks in (None, (2,) * len(shape)) if model.size else (None,):
                path = folder / f"{number}-{len(chunks or ())}.h5"
                save(path, array, chunks=chunks, name="deep/er")
                save(path, array)
                if rank() == 0:
                    with PLAIN(path, "r") as file:
                        same(file["data"][...].astype(model.dtype), model)
                        same(file["deep/er"][...].astype(model.dtype), model)
                        assert file["deep/er"].chunks == chunks
                barrier()
                same(load(path, name="data")[...].astype(model.dtype), model)
                barrier()
    fails(folder)
    return formats.Hdf5("", None, None).writers()


@contextlib.contextmanager
def no_communicator():
    """The last rank has none, and so cannot open a file with the others."""
    known = formats.communicator

    def fail():
        raise OSError("no communicator")

    if rank() == ranks() - 1:
        formats.communicator = fail
    yield
    formats.communicator = known


@contextlib.contextmanager
def no_more_files():
    """The last rank may not open any."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if rank() == ranks() - 1:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def fails(folder):
    """One rank fails while the file is open, or before all open it; the old one stays as it was."""
    path, array = folder / "kept.h5", CyclicArray((40, 3))
    array.fill(2)
    save(path, array)
    array.fill(3)
    writing = formats.Hdf5.writing

    @contextlib.contextmanager
    def broken(self, partial, kind):
        with writing(self, partial, kind) as write:
            if rank() == ranks() - 1:
                raise OSError("broken")
            yield write

    def is_refused(*words):
        try:
            save(path, array)
        except Error as problem:
            assert all(word in str(problem) for word in ("is as it was", *words)), problem
        else:
            raise AssertionError("it was saved")

    formats.Hdf5.writing = broken
    is_refused("broken")
    formats.Hdf5.writing = writing
    last = f"rank {ranks() - 1}"
    with no_communicator():
        is_refused(last, "no communicator")
    with no_more_files():
        is_refused(last, "Too many open files")
    same(load(path), np.full((40, 3), 2.0))
    save(path, BlockArray(3))
    assert sorted(found.name for found in folder.glob("kept*")) == ["kept.h5"]
    barrier()


if __name__ == "__main__":
    boxes.BOX_BYTES = 48  # so that each rank moves several boxes
    if len(sys.argv) < 3:
        pretend()
    writers = launch(main, args=[Path(sys.argv[1]).resolve()])
    print(f"written by {writers[0]}")
