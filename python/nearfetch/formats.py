# SPDX-License-Identifier: Apache-2.0
"""File formats of arrays: numpy's .npy, raw bytes, HDF5 by h5py and Zarr by zarr-python.

A format opens an array to read, makes an empty one, and writes boxes of it. All of it is local to a rank.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from abc import ABC, abstractmethod
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

from nearfetch.boxes import Box
from nearfetch.errors import Error
from nearfetch.literals import one_reader
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.processes import communicator, ranks_are_processes

__all__ = ["Format", "Hdf5", "Kind", "Npy", "Raw", "Stored", "Zarr"]

Write = Callable[[Box, np.ndarray], None]


class Kind(NamedTuple):
    """Shape and dtype of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Stored(NamedTuple):
    """An array in a file that is open to read."""

    kind: Kind
    elements: Any
    """What a tuple of slices indexes as a numpy array; the result is one."""
    unit: Optional[tuple[int, ...]] = None
    """Extents of what can be read at once; None if `elements` is mapped memory."""


class Format(ABC):
    """One array in the file `path`."""

    is_folder = False

    def __init__(self, path: str, name: Optional[str], chunks: Optional[Sequence[int]]) -> None:
        """`name`: of the array in the file. `chunks`: extents of what is stored together."""
        self.path, self.name = path, name
        self.chunks = None if chunks is None else tuple(chunks)

    @abstractmethod
    def open(self) -> contextlib.AbstractContextManager[Stored]:
        """The array, to read. Raises Error if there is none."""

    @abstractmethod
    def create(self, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        """Makes `partial`, which is going to replace the file, with an array that `writing` fills."""

    def prepare(self, partial: str) -> None:  # noqa: B027 - most formats need nothing
        """Raises what keeps this rank from writing `partial`, before `writing` in which ranks may wait."""

    @abstractmethod
    def writing(self, partial: str, kind: Kind) -> contextlib.AbstractContextManager[Write]:
        """Writes boxes to the array in `partial`. At the end they have left this process."""

    def writers(self) -> int:
        """How many ranks write: the first ones, and these all do."""
        return _native.ranks()

    def unit(self, kind: Kind) -> Optional[tuple[int, ...]]:
        """What two ranks may not write parts of; None: elements."""
        return None

    def unsupported(self, kind: Kind, why: object) -> Error:
        """The error for a kind of array that the format does not have."""
        return Error(
            f"{kind.dtype} in {self.path} ({why}): save it as .npy, or convert it to another dtype before"
        )

    def absent(self, why: str) -> Error:
        """The error for a file without the array."""
        named = "an array" if self.name is None else f"the array '{self.name}'"
        return Error(f"{named} in {self.path} ({why}): give the path or the name of one")


class Raw(Format):
    """Elements in C order, and nothing else. Each box is contiguous in the file."""

    def __init__(self, path: str, dtype: np.dtype, shape: Optional[tuple[int, ...]], offset: int) -> None:
        """For reading: `shape` is of one dimension by default; `offset` is in bytes."""
        super().__init__(path, None, None)
        self._dtype, self._shape, self._offset = dtype, shape, offset

    @contextlib.contextmanager
    def open(self) -> Iterator[Stored]:
        """The file as mapped memory. Raises Error if it has another size."""
        there = os.path.getsize(self.path) - self._offset
        kind = Kind((there // self._dtype.itemsize,) if self._shape is None else self._shape, self._dtype)
        if _nbytes(kind) != there:
            raise Error(
                f"{kind.dtype} of shape {kind.shape} in {self.path} ({_nbytes(kind)} bytes, and the file has "
                f"{there} from offset {self._offset} on): give the shape, dtype and offset that it has"
            )
        if there == 0:  # an empty file cannot be mapped
            yield Stored(kind, np.empty(kind.shape, kind.dtype))
        else:
            yield Stored(kind, np.memmap(self.path, kind.dtype, "r", self._offset, kind.shape))

    def create(self, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        """As long as it is going to be."""
        with open(partial, "xb") as file:
            file.truncate(_nbytes(kind))

    def begin(self, partial: str, kind: Kind) -> int:
        """Where the elements begin in what `create` has made, in bytes."""
        return os.path.getsize(partial) - _nbytes(kind)

    def reserve(self, partial: str) -> None:
        """Lets the file system give `partial` its room now. Raises OSError if there is not as much."""
        with open(partial, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size > 0:
                os.posix_fallocate(file.fileno(), 0, size)

    @contextlib.contextmanager
    def writing(self, partial: str, kind: Kind) -> Iterator[Write]:
        """By each rank alone."""
        # Not by mapped memory: a full disk would be a signal, and ranks of two nodes would overwrite parts
        # of each other's pages on a network's file system.
        begin = self.begin(partial, kind)
        file = os.open(partial, os.O_WRONLY)
        try:

            def write(box: Box, values: np.ndarray) -> None:
                first = int(np.ravel_multi_index(box.lower, kind.shape)) * kind.dtype.itemsize
                _write_all(file, values, begin + first)

            yield write
            os.fsync(file)
        finally:
            os.close(file)


class Npy(Raw):
    """numpy's own format."""

    def __init__(self, path: str) -> None:
        super().__init__(path, np.dtype("u1"), None, 0)

    @contextlib.contextmanager
    def open(self) -> Iterator[Stored]:
        """The file as mapped memory."""
        try:
            with one_reader:
                mapped = np.lib.format.open_memmap(self.path, "r")
        except ValueError as problem:
            raise self.absent(str(problem)) from None
        yield Stored(Kind(mapped.shape, mapped.dtype), mapped)

    def create(self, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        """With numpy's header."""
        np.lib.format.open_memmap(partial, "w+", kind.dtype, kind.shape)


class Hdf5(Format):
    """A dataset of an HDF5 file."""

    @contextlib.contextmanager
    def open(self) -> Iterator[Stored]:
        """Without a name the only dataset."""
        h5py = _module("h5py")
        with h5py.File(self.path, "r") as file:
            name = self.name
            if name is None:
                datasets = [key for key, value in file.items() if isinstance(value, h5py.Dataset)]
                if len(datasets) != 1:
                    raise self.absent(f"it has the datasets {datasets}")
                name = datasets[0]
            dataset = file.get(name)
            if not isinstance(dataset, h5py.Dataset):
                raise self.absent(f"it has {list(file)}")
            shape = dataset.shape or ()  # None: an empty dataspace
            yield Stored(Kind(shape, dataset.dtype), dataset, dataset.chunks or (1,) * len(shape))

    def create(self, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        """A copy of the file that is there. A dataset of the same kind stays, with its attributes."""
        h5py, name = _module("h5py"), self._name()
        if os.path.exists(self.path):
            shutil.copyfile(self.path, partial)
        with h5py.File(partial, "a") as file:
            there = file.get(name)
            if there is not None and not isinstance(there, h5py.Dataset):
                raise Error(f"the dataset '{name}' in {self.path} (it is a group): use another name")
            if there is not None:
                if there.chunks == (self.chunks or there.chunks) and kind == (there.shape, there.dtype):
                    return
                del there, file[name]  # its room is free when it is closed, and until the file is
            early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            try:
                file.create_dataset(name, kind.shape, kind.dtype, chunks=self.chunks, dcpl=early)
            except TypeError as problem:
                raise self.unsupported(kind, problem) from problem

    def prepare(self, partial: str) -> None:
        """Where all ranks open the file, one that cannot would leave the others in the call."""
        if self.writers() > 1:
            communicator()
            os.close(os.open(partial, os.O_RDWR))

    @contextlib.contextmanager
    def writing(self, partial: str, kind: Kind) -> Iterator[Write]:
        """By all ranks through MPI, or by one."""
        how = {"driver": "mpio", "comm": communicator()} if self.writers() > 1 else {}
        with _module("h5py").File(partial, "r+", **how) as file:
            dataset = file[self._name()]

            def write(box: Box, values: np.ndarray) -> None:
                dataset[box.slices] = values

            yield write
        with open(partial, "r+b") as flushed:
            os.fsync(flushed.fileno())

    def writers(self) -> int:
        """All ranks where h5py has MPI; else processes may not write to one file."""
        with contextlib.suppress(Error):  # create() says it
            if ranks_are_processes() and _module("h5py").get_config().mpi:
                return _native.ranks()
        return 1

    def _name(self) -> str:
        return "data" if self.name is None else self.name


class Zarr(Format):
    """An array, or an array of a group, in a folder of format version 3."""

    is_folder = True

    @contextlib.contextmanager
    def open(self) -> Iterator[Stored]:
        """Of version 2, too."""
        zarr = _module("zarr")
        try:
            array = zarr.open_array(store=self.path, path=self.name or "", mode="r")
        except (FileNotFoundError, ValueError, KeyError) as problem:
            raise self.absent(str(problem)) from None
        yield Stored(Kind(array.shape, array.dtype), array, array.shards or array.chunks)

    def create(self, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        """With a copy of the group that is there."""
        zarr = _module("zarr")
        there = _zarr_at(zarr, self.path)
        if self.name is None and isinstance(there, zarr.Group):
            raise Error(f"{self.path} (it is a group, and would be lost): give the array's name in it")
        if self.name is not None and isinstance(there, zarr.Array):
            raise Error(f"'{self.name}' in {self.path} (it is an array, and no group): leave the name out")
        if self.name is not None and there is not None:
            shutil.copytree(self.path, partial)  # with the other arrays
        try:
            self._create_in(zarr, partial, kind, box)
        except (TypeError, ValueError) as problem:
            raise self.unsupported(kind, problem) from problem

    def _create_in(self, zarr: Any, partial: str, kind: Kind, box: tuple[int, ...]) -> None:
        how = {"shape": kind.shape, "dtype": kind.dtype, "chunks": self.chunks or box}
        if self.name is None:
            zarr.create_array(store=partial, zarr_format=3, **how)
            return
        group = zarr.open_group(store=partial, mode="a", zarr_format=3)
        group.create_array(self.name, overwrite=True, **how)
        if group.metadata.consolidated_metadata is not None:
            zarr.consolidate_metadata(partial)

    @contextlib.contextmanager
    def writing(self, partial: str, kind: Kind) -> Iterator[Write]:
        """Boxes are whole chunks."""
        array = _module("zarr").open_array(store=partial, path=self.name or "", mode="r+")

        def write(box: Box, values: np.ndarray) -> None:
            array[box.slices] = values

        yield write

    def unit(self, kind: Kind) -> Optional[tuple[int, ...]]:
        """Its chunks."""
        return self.chunks


def _zarr_at(zarr: Any, path: str) -> Any:
    """The array or group there; None if there is nothing. Raises Error for anything else."""
    if not os.path.exists(path):
        return None
    try:
        return zarr.open(store=path, mode="r")
    except Exception as problem:
        raise Error(f"{path} (it is there, and is no Zarr: {problem}): give another path") from None


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise Error(f"{name} is not here ({problem}): pip install {name.split('.')[0]}") from None


def _nbytes(kind: Kind) -> int:
    return int(np.prod(kind.shape, dtype=object)) * kind.dtype.itemsize


def _write_all(file: int, values: np.ndarray, offset: int) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8))
    while left:
        written = os.pwrite(file, left, offset)
        left, offset = left[written:], offset + written
