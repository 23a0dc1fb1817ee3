# SPDX-License-Identifier: Apache-2.0
"""Arrays in files: what all ranks write is read by numpy, zarr and h5py alone, and the other way round.

python file_checks.py FOLDER [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import zarr
from array_checks import arrays, refused, same, values
from checks import given_threads, run_checks
from scipy import io as scipy_io
from scipy import sparse

from nearfetch import (
    BlockArray,
    BlockCyclicArray,
    CollectiveError,
    CyclicArray,
    SparseMatrix,
    barrier,
    boxes,
    files,
    from_scipy,
    load,
    rank,
    ranks,
    save,
    statistics,
)

PACKAGES = ("h5py", "scipy", "zarr")
DTYPES = ("f8", "?", ">i4", "c16", "f4", "u1", [("x", "f8"), ("n", "i4"), ("tag", "S4")], "M8[s]")
SHAPES = ((7, 5), (13,), (3, 1, 5), (1, 9), (2, 3, 2, 3), (0,), (3, 0))
# What zarr says of its types beyond version 3 of the format.
warnings.filterwarnings("ignore", module="zarr")


class Alone:
    """Files of one format by its own library, in one process."""

    def __init__(self, suffix, write, read, without=()):
        self.suffix, self.write, self.read, self.without = suffix, write, read, without


def _write_hdf5(path, model):
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "data", data=model, chunks=tuple(min(2, n) for n in model.shape) if model.size else None
        )


def _read_hdf5(path):
    with h5py.File(path, "r") as file:
        return file["data"][...]


def _write_zarr(path, model):
    made = zarr.create_array(
        store=str(path), shape=model.shape, dtype=model.dtype, chunks=(2,) * model.ndim, overwrite=True
    )
    if model.size:
        made[...] = model


def _read_zarr(path):
    stored = zarr.open_array(store=str(path), mode="r")
    assert stored.metadata.zarr_format == 3
    return stored[...]


ALONE = (
    Alone(".npy", np.save, np.load),
    Alone(".h5", _write_hdf5, _read_hdf5, "M"),
    Alone(".zarr", _write_zarr, _read_zarr),
    Alone(".raw", lambda path, model: model.tofile(path), None),
)


def there_and_back(folder, shape, dtype):
    """Each distribution to a file of each format, and from one."""
    model = values(shape, dtype)
    for alone in ALONE:
        path = folder / f"there{alone.suffix}"
        for array in arrays(shape, dtype):
            array.local[...] = model[np.ix_(*array.local_indices)]
            if model.dtype.kind in alone.without:
                refused(lambda: save(path, array), "save it as .npy, or convert it")  # noqa: B023
                continue
            save(path, array)
            if rank() == 0:
                read = alone.read(path) if alone.read else np.fromfile(path, dtype).reshape(shape)
                same(read.astype(model.dtype), model)
            barrier()
            back = load(path, model.dtype, shape=shape, distribution=type(array), **_block(array))
            assert type(back) is type(array) and back.bounds == array.bounds
            same(back[...].astype(model.dtype), model)
        if model.dtype.kind in alone.without:
            continue
        path = folder / f"back{alone.suffix}"
        if rank() == 0:
            alone.write(path, model)
        barrier()
        for array in arrays(shape, dtype):
            back = load(path, dtype, shape=shape, distribution=type(array), **_block(array))
            same(back[...].astype(model.dtype), model)
        barrier()


def _block(array):
    return {"block": [2] * array.ndim} if isinstance(array, BlockCyclicArray) else {}


def bounds_and_orders(folder):
    """Files begin at 0; Fortran's order is read; owners' values are written, not prefetched ones."""
    array = BlockArray(bounds=[(-3, 4), (10, 13)], dtype="i4")
    array.local[...] = np.add.outer(10 * array.local_indices[0], array.local_indices[1])
    model = np.add.outer(10 * np.arange(-3, 4), np.arange(10, 13)).astype("i4")
    array.prefetch_all_to_all(consistent=False)
    array.local[...] += 1
    save(folder / "bounds.npy", array)
    save(folder / "bounds.zarr", array, chunks=(2, 2))
    array.evict_prefetch()
    if rank() == 0:
        same(np.load(folder / "bounds.npy"), model + 1)
        assert zarr.open_array(store=str(folder / "bounds.zarr"), mode="r").chunks == (2, 2)
        np.save(folder / "fortran.npy", np.asfortranarray(model))
    barrier()
    for distribution in (BlockArray, CyclicArray):
        same(load(folder / "fortran.npy", distribution=distribution), model)
        same(load(folder / "bounds.zarr", distribution=distribution), model + 1)
    assert load(str(folder / "fortran.npy"), grid=(1, ranks())).grid == (1, ranks())
    barrier()


def raw_files(folder):
    """A header is left out by its length; without a shape there is one dimension."""
    path = folder / "header.bin"
    if rank() == 0:
        path.write_bytes(b"12345" + np.arange(6, dtype=">i2").tobytes())
    barrier()
    assert load(path, ">i2", offset=5)[...].tolist() == list(range(6))
    assert load(path, ">i2", shape=(2, 3), offset=5, format="raw").shape == (2, 3)
    refused(lambda: load(path, "i4", offset=5, shape=4), "16 bytes, and the file has 12 from offset 5")
    refused(lambda: load(path), "give the dtype")
    barrier()


def several_in_a_file(folder):
    """Other arrays of the file stay as they are."""
    array, more = BlockArray(9), CyclicArray((4, 3), "i2")
    array.fill(1.5)
    more.fill(-2)
    for suffix in (".h5", ".zarr"):
        path = folder / f"several{suffix}"
        for _ in range(2):
            save(path, array, name="a")
            save(path, more, name="deep/er")
        same(load(path, name="a"), np.full(9, 1.5))
        same(load(path, name="deep/er"), np.full((4, 3), -2, "i2"))
        refused(lambda: load(path, name="b"), "give the path or the name of one")  # noqa: B023
    path = folder / "several.h5"
    if rank() == 0:
        with h5py.File(path, "r+") as file:
            file["a"].attrs["unit"] = "m"
    barrier()
    before = path.stat().st_size
    save(path, array, name="a")
    assert path.stat().st_size == before
    save(path, CyclicArray(9, "i2"), name="deep/er", chunks=(4,))
    if rank() == 0:
        with h5py.File(path, "r") as file:
            assert file["a"].attrs["unit"] == "m" and file["deep/er"].chunks == (4,)
    barrier()
    save(folder / "several.h5", array, name="b")
    refused(lambda: load(folder / "several.h5"), "it has the datasets ['a', 'b']")
    refused(lambda: save(folder / "several.h5", array, name="deep"), "it is a group")
    refused(lambda: save(folder / "several.zarr", array), "it is a group, and would be lost")
    save(folder / "one.zarr", array)
    refused(lambda: save(folder / "one.zarr", array, name="a"), "it is an array, and no group")
    same(load(folder / "one.zarr"), np.full(9, 1.5))
    same(load(folder / "several.h5", name="a"), np.full(9, 1.5))
    barrier()


def by_mpi_io(folder, processes):
    """Other programs read what collective MPI-IO has written, and the other way round."""
    used, move = [], files.move_elements

    def counted(*args, **how):
        used.append(how["writes"])
        move(*args, **how)

    files.move_elements = counted
    box_bytes, boxes.BOX_BYTES = boxes.BOX_BYTES, 160  # each box is several collective calls
    saves = loads = 0
    for number, shape in enumerate(SHAPES):
        dtype = DTYPES[number % len(DTYPES)]
        model = values(shape, dtype)
        for suffix, read in ((".npy", np.load), (".raw", lambda path: np.fromfile(path, dtype))):  # noqa: B023
            path = folder / f"by-mpi-io{suffix}"
            for array in arrays(shape, dtype):
                array.local[...] = model[np.ix_(*array.local_indices)]
                save(path, array, mpi_io=True)
                if rank() == 0:
                    same(read(path).reshape(shape).astype(model.dtype), model)
                barrier()
                back = load(path, dtype, shape=shape, mpi_io={"cb_nodes": 2}, **_kind(array))
                same(back[...].astype(model.dtype), model)
                saves, loads = saves + 1, loads + 1
    array = CyclicArray(bounds=[(-3, 4), (10, 13)], dtype="i4")
    array.local[...] = np.add.outer(10 * array.local_indices[0], array.local_indices[1])
    model = np.add.outer(10 * np.arange(-3, 4), np.arange(10, 13)).astype("i4")
    save(folder / "by-mpi-io.npy", array, mpi_io=True)
    header = folder / "by-mpi-io.bin"
    if rank() == 0:
        same(np.load(folder / "by-mpi-io.npy"), model)
        np.save(folder / "fortran.npy", np.asfortranarray(model))
        header.write_bytes(b"12345" + model.astype(">i4").tobytes())
    barrier()
    same(load(folder / "fortran.npy", distribution=CyclicArray, mpi_io=True), model)
    back = load(header, ">i4", shape=(7, 3), offset=5, distribution=CyclicArray, mpi_io=True)
    same(back[...].astype("i4"), model)
    saves, loads = saves + 1, loads + 1
    files.move_elements, boxes.BOX_BYTES = move, box_bytes
    assert (used.count(True), used.count(False)) == ((saves, loads) if processes else (0, 0))
    refused(lambda: save(folder / "by-mpi-io.h5", array, mpi_io=True), "only npy and raw has it")
    if processes:
        refused(lambda: save(folder / "by-mpi-io.npy", array, mpi_io=4), "mpi_io has hints by name")
        romio = os.environ.pop("OMPI_MCA_io", None)  # noqa: SIM112
        if romio is not None:
            refused(lambda: save(folder / "by-mpi-io.npy", array, mpi_io=True), "Open MPI's own MPI-IO")
            os.environ["OMPI_MCA_io"] = romio  # noqa: SIM112
        hidden = {name: sys.modules[name] for name in sys.modules if name.split(".")[0] == "mpi4py"}
        sys.modules.update(dict.fromkeys((*hidden, "mpi4py")))
        refused(lambda: save(folder / "by-mpi-io.npy", array, mpi_io=True), "pip install mpi4py")
        sys.modules.update(hidden)
        if ranks() > 1:
            refused(
                lambda: save(folder / "by-mpi-io.npy", array, mpi_io=True if rank() else None),
                "save",
                CollectiveError,
            )
    same(load(folder / "by-mpi-io.npy"), model)
    assert not list(folder.glob("*.partial*"))
    barrier()


def _kind(array):
    return {"distribution": type(array), **_block(array)}


def sparse_files(folder):
    """Matrices in scipy's files and Matrix Market's, and from them."""
    random = np.random.default_rng(2)
    for number, (shape, dtype) in enumerate(
        (((9, 5), "f8"), ((2, 7), "i4"), ((5, 5), "c16"), ((4, 0), "f4"))
    ):
        model = sparse.random_array(shape, density=0.4, rng=random).toarray()
        model = (model * 90 * (1 + 1j) if dtype == "c16" else model * 90).astype(dtype)
        own = SparseMatrix.rows_of(shape[0])
        matrix = SparseMatrix(shape, sparse.csr_array(model[own.start : own.stop]), dtype)
        for suffix, read, write in (
            (".npz", sparse.load_npz, sparse.save_npz),
            (".mtx", scipy_io.mmread, scipy_io.mmwrite),
        ):
            path = folder / f"there{number}{suffix}"
            save(path, matrix)
            if rank() == 0:
                assert np.array_equal(read(path).toarray(), model), path
            back = load(path, shape=shape)
            assert back.nnz == np.count_nonzero(model) and np.array_equal(back.toarray()[...], model)
            if rank() == 0:
                write(folder / f"back{suffix}", sparse.coo_array(model))
            barrier()
            same(load(folder / f"back{suffix}").toarray()[...].astype(dtype), model)
            barrier()
    symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 3 7\n"
    if rank() == 0:
        (folder / "symmetric.mtx").write_text(symmetric)
        (folder / "bad.mtx").write_text(symmetric.replace("3 3 7", "4 3 7"))
        np.savez(folder / "dense.npz", a=np.zeros(3))
    barrier()
    assert load(folder / "symmetric.mtx").toarray()[...].tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 7]]
    refused(lambda: load(folder / "bad.mtx"), "rank 0: ValueError")
    refused(lambda: load(folder / "dense.npz"), "scipy.sparse.save_npz")
    refused(lambda: load(folder / "symmetric.mtx", "f8"), "the file has the dtype int64")
    refused(lambda: save(folder / "dense.npz", BlockArray(3)), "sparse matrices go to .npz and .mtx")
    refused(lambda: save(folder / "sparse.npy", SparseMatrix((3, 3))), "sparse matrices go to .npz and .mtx")
    assert not list(folder.glob("*.partial*"))
    barrier()


def from_scipys_matrices():
    """Of all ranks or of one, in any form, with an index given twice."""
    twice = sparse.coo_array(([1.0, 2.0, 4.0, 8.0], ([4, 4, 0, 2], [1, 1, 3, 0])), shape=(7, 4))
    for given in (
        twice,
        twice.tocsc().astype("f4"),
        sparse.csr_matrix(([3, 5], [1, 1], [0, 2]), shape=(1, 2)),
        sparse.csr_array((5, 0), dtype="i2"),
        sparse.random_array((31, 9), density=0.3, rng=np.random.default_rng(6)),
    ):
        model = given.toarray()
        for root in (None, 0, ranks() - 1):
            matrix = from_scipy(given if root in (None, rank()) else None, root)
            assert matrix.shape == given.shape and matrix.dtype == given.dtype
            assert matrix.nnz == np.count_nonzero(model)
            same(matrix.toarray()[...], model)
            barrier()
    for root in (None, 0):
        refused(lambda root=root: from_scipy(np.zeros((2, 2)), root), "of a ndarray")
    refused(lambda: from_scipy(twice, ranks()), "use 0 to")
    if ranks() > 1:
        refused(lambda: from_scipy(twice if rank() else twice.T), "from_scipy", CollectiveError)


def rows_travel_once():
    """A matrix of one rank goes straight to the others, with scipy's indices of 4 bytes."""
    rows = 4000
    given = sparse.random_array((rows, 500), density=0.02, rng=np.random.default_rng(8), format="csr")
    before = statistics()
    matrix = from_scipy(given if rank() == 0 else None, root=0)
    after = statistics()
    sent, fetched = (after[word] - before[word] for word in ("put_message_bytes", "get_message_bytes"))
    others = given.nnz - len(matrix.local.data) if rank() == 0 else 0
    assert abs(sent - others * (8 + 4) - 8 * (rows - len(matrix.own_rows)) * (rank() == 0)) < 10_000
    assert fetched < 10_000, fetched


def wrong_files(folder):
    """Files that are not there, are not what they say, or have another array."""
    array = BlockArray((2, 3), "f4")
    if rank() == 0:
        (folder / "text.npy").write_text("no array")
        (folder / "text.h5").write_text("no array")
        (folder / "folder.zarr").mkdir()
        (folder / "folder.zarr" / "kept").write_text("kept")
        (folder / "folder.npy").mkdir()
        np.save(folder / "objects.npy", np.array([None, 1]), allow_pickle=True)
        np.save(folder / "number.npy", np.float64(3))
        np.save(folder / "long.npy", np.zeros(2, "V80"))
        np.save(folder / "cut.npy", np.zeros(1000))
        with open(folder / "cut.npy", "r+b") as file:
            file.truncate(5000)
    barrier()
    save(folder / "right.npy", array)
    for call, words in (
        (lambda: load(folder / "absent.npy"), "FileNotFoundError"),
        (lambda: load(folder / "absent.h5"), "FileNotFoundError"),
        (lambda: load(folder / "absent.zarr"), "an array in "),
        (lambda: load(folder / "text.npy"), "give the path"),
        (lambda: load(folder / "cut.npy"), "give the path"),
        (lambda: load(folder / "objects.npy"), "Python objects"),
        (lambda: load(folder / "text.h5"), "rank 0: OSError"),
        (lambda: load(folder / "number.npy"), "has 0 dimensions"),
        (lambda: load(folder / "long.npy"), "80 bytes"),
        (lambda: load(folder / "right.npy", "f8"), "the file has the dtype float32"),
        (lambda: load(folder / "right.npy", shape=(3, 2)), "the file has the shape (2, 3)"),
        (lambda: load(folder / "right.txt"), "its format is not known"),
        (lambda: load(folder / "right.npy", name="a"), "name='a'"),
        (lambda: load(folder / "right.npy", offset=4), "offset=4"),
        (lambda: save(folder / "right.npy", array, chunks=(1, 1)), "chunks=(1, 1)"),
        (lambda: save(folder / "right.npy", array[...]), "numpy.save in one rank"),
        (lambda: save(folder / "right.dat", array), "its format is not known"),
        (lambda: save(folder / "absent" / "right.npy", array), "rank 0: FileNotFoundError"),
        (lambda: save(folder / "folder.npy", array), "it is a folder"),
        (lambda: save(folder / "folder.zarr", array), "is no Zarr"),
        (lambda: save(folder / "text.h5", array), "rank 0: OSError"),
    ):
        refused(call, words)
    assert (folder / "folder.zarr" / "kept").read_text() == "kept"
    assert (folder / "text.h5").read_text() == "no array"
    assert not list(folder.glob("*.partial*"))
    barrier()


def missing_packages(folder):
    """What is needed is said, and no file is there."""
    hidden = {name: module for name, module in sys.modules.items() if name.split(".")[0] in PACKAGES}
    barrier()
    sys.modules.update(dict.fromkeys((*hidden, *PACKAGES)))
    array = BlockArray(4)
    for suffix, package in ((".h5", "h5py"), (".zarr", "zarr")):
        refused(lambda: save(folder / f"missing{suffix}", array), f"pip install {package}")  # noqa: B023
        refused(lambda: load(folder / f"there{suffix}"), f"pip install {package}")  # noqa: B023
    refused(lambda: save(folder / "missing.npz", SparseMatrix((3, 3))), "pip install scipy")
    refused(lambda: load(folder / "symmetric.mtx"), "pip install scipy")
    assert not list(folder.glob("missing*"))
    barrier()
    sys.modules.update(hidden)
    barrier()


def different_files(folder):
    """Relative paths of processes in different folders."""
    (folder / str(rank())).mkdir()
    os.chdir(folder / str(rank()))
    np.save("own.npy", np.zeros(2 + rank() % 2))
    if rank() > 0:
        np.save("others.npy", np.zeros(3))
    refused(
        lambda: load("own.npy"), "ranks see different files: float64 of shape (2,) and float64 of shape (3,)"
    )
    refused(lambda: load("others.npy"), "(rank 0: FileNotFoundError")


def links_and_modes(folder):
    """A link stays one, and a file keeps its mode."""
    if rank() == 0:
        (folder / "far").mkdir()
        np.save(folder / "far" / "file.npy", np.zeros(3))
        (folder / "far" / "file.npy").chmod(0o600)
        (folder / "link.npy").symlink_to((folder / "far" / "file.npy").resolve())
    barrier()
    array = CyclicArray(4, "i2")
    save(folder / "link.npy", array)
    assert (folder / "link.npy").is_symlink() and load(folder / "far" / "file.npy").dtype == "i2"
    assert (folder / "far" / "file.npy").stat().st_mode & 0o777 == 0o600
    barrier()


def main(folder, processes):
    """All of it, in one program."""
    for number, shape in enumerate(SHAPES):
        for dtype in (DTYPES[number % len(DTYPES)], DTYPES[(number + 3) % len(DTYPES)]):
            there_and_back(folder, shape, dtype)
    there_and_back(folder, (4, 3), DTYPES[7])
    bounds_and_orders(folder)
    raw_files(folder)
    by_mpi_io(folder, processes)
    several_in_a_file(folder)
    sparse_files(folder)
    from_scipys_matrices()
    rows_travel_once()
    wrong_files(folder)
    links_and_modes(folder)
    missing_packages(folder)
    if processes and ranks() > 1:
        different_files(folder)
    return rank()


if __name__ == "__main__":
    boxes.BOX_BYTES = 48  # so that each rank moves several boxes
    run_checks(main, [Path(sys.argv[1]).resolve(), given_threads(2) is None], position=2)
