# SPDX-License-Identifier: Apache-2.0
"""Arrays in files: all ranks write and read at the same time.

A file is cut into boxes. Each rank gets its boxes from their owners and writes them, so that no two ranks
write next to each other. What is written becomes the file when all ranks have succeeded.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from nearfetch.agreement import exchange, said, together
from nearfetch.arrays import BlockArray, DistributedArray
from nearfetch.boxes import Box, box_shape, boxes_of, each, row_boxes
from nearfetch.elements import bytes_of
from nearfetch.errors import Error
from nearfetch.formats import Format, Hdf5, Kind, Npy, Raw, Stored, Zarr
from nearfetch.indexing import key_of
from nearfetch.mpi_io import Elements, Hints, move_elements, require_mpi_io
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.processes import ranks_are_processes
from nearfetch.replacing import replace
from nearfetch.sparse import SparseMatrix
from nearfetch.sparse_files import load_sparse, save_sparse

__all__ = ["load", "save"]

File = Union[str, "os.PathLike[str]"]


class Asked(NamedTuple):
    """What a program says of an array in a file."""

    dtype: Optional[np.dtype]
    shape: Optional[tuple[int, ...]]


_SUFFIXES = {
    ".npy": "npy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
    ".raw": "raw",
    ".bin": "raw",
    ".npz": "npz",
    ".mtx": "mtx",
}
_SPARSE = ("npz", "mtx")
_FORMATS_WITH = {
    "chunks": ("hdf5", "zarr"),
    "mpi_io": ("npy", "raw"),
    "name": ("hdf5", "zarr"),
    "offset": ("raw",),
}
"""The options that only some formats have."""

MpiIo = Union[bool, Mapping[str, object]]


def save(
    file: File,
    array: Union[DistributedArray, SparseMatrix],
    *,
    name: Optional[str] = None,
    chunks: Optional[Sequence[int]] = None,
    format: Optional[str] = None,
    mpi_io: Optional[MpiIo] = None,
) -> None:
    """Writes an array to a file, in numpy's order, whatever its distribution. Collective.

    The file has what was written to the array before the call. The name's end says the format, or `format`:
    "npy", "zarr" (version 3), "hdf5" or "raw" (the elements alone). `name`: of the array in an HDF5 file
    ("data" by default) or in a group of Zarr; what else the file has is kept. `chunks`: extents of what is
    compressed or stored together, for the two. HDF5 is written by rank 0, unless h5py has MPI. A
    `SparseMatrix` goes to scipy's "npz" or Matrix Market's "mtx", by rank 0.

    `mpi_io`: True for collective MPI-IO, or its hints, such as {"striping_factor": 8}: for .npy and raw bytes
    on a parallel file system that the MPI library knows. Within a node it is slower, because ranks exchange
    elements before they write. It takes mpi4py, and ROMIO. Where ranks are threads it changes nothing.

    A file of that name is replaced in the end, in one step. Raises Error in all ranks if a rank fails; the
    old file is then as it was.

    >>> import tempfile
    >>> from nearfetch import CyclicArray, launch, rank
    >>> def main(folder):
    ...     a = BlockArray((3, 4), dtype=int)
    ...     a.local[...] = rank()
    ...     save(f"{folder}/a.npy", a)
    ...     return load(f"{folder}/a.npy", distribution=CyclicArray)[2].tolist()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     launch(main, ranks=2, args=[folder])
    [[1, 1, 1, 1], [1, 1, 1, 1]]
    """
    if not isinstance(array, (DistributedArray, SparseMatrix)):
        raise Error(
            f"save of a {type(array).__name__} (it is in this rank alone): use numpy.save in one rank"
        )
    mpi_io = None if mpi_io is False else mpi_io
    place = _place(file, format, name=name, chunks=chunks, mpi_io=mpi_io)
    kind = Kind(array.shape, array.dtype)
    given = said(name=name, chunks=chunks, mpi_io=mpi_io)
    what = f"save of {kind.dtype} {kind.shape} to {place.given!r}{given}"
    if isinstance(array, SparseMatrix) != (place.format in _SPARSE):
        raise Error(f"{what} (sparse matrices go to .npz and .mtx, arrays to others): give another name")
    exchange(what)
    if isinstance(array, SparseMatrix):
        save_sparse(what, place.path, place.format, array)
    else:
        target = _format_at(place, name, chunks, Asked(kind.dtype, kind.shape))
        hints = _hints(what, mpi_io)
        if isinstance(target, Raw) and hints is not None:
            _save_by_mpi(what, target, array, hints)
        else:
            _save_dense(what, target, array)


def _hints(what: str, mpi_io: Optional[MpiIo]) -> Optional[Hints]:
    """Hints for MPI-IO; None where it is not used. Collective. Raises Error if there is no mpi4py for it."""
    if mpi_io is None or not ranks_are_processes():
        return None
    given = {} if mpi_io is True else mpi_io
    if not isinstance(given, Mapping):
        raise Error(f"{what} (mpi_io has hints by name): use True, or a mapping such as {{'cb_nodes': 4}}")
    together(what, require_mpi_io, "leave mpi_io out")
    return {str(word): str(value) for word, value in given.items()}


def _save_by_mpi(what: str, target: Raw, array: DistributedArray, hints: Hints) -> None:
    kind = Kind(array.shape, array.dtype)

    def create(partial: str) -> None:
        target.create(partial, kind, kind.shape)
        target.reserve(partial)

    def write(partial: str, remedy: str) -> None:
        begin = together(what, lambda: str(target.begin(partial, kind)), remedy)[0]
        move_elements(what, Elements(partial, int(begin), kind), array, hints, remedy, writes=True)

    replace(what, target.path, create, write)


def _save_dense(what: str, target: Format, array: DistributedArray) -> None:
    kind = Kind(array.shape, array.dtype)
    box = box_shape(kind.shape, kind.dtype.itemsize, _native.ranks(), target.unit(kind))
    writers = target.writers()
    exchange(f"{what} by {writers} ranks")

    boxes = list(boxes_of(kind.shape, box, _native.rank(), writers)) if _native.rank() < writers else []

    def write(partial: str) -> None:
        if _native.rank() < writers:
            with target.writing(partial, kind) as write_box:
                each(boxes, kind.dtype.itemsize, what, lambda box: write_box(box, _owners_values(array, box)))

    def write_together(partial: str, remedy: str) -> None:
        together(what, lambda: target.prepare(partial), remedy)
        together(what, lambda: write(partial), remedy)

    replace(
        what,
        target.path,
        lambda partial: target.create(partial, kind, box),
        write_together,
        is_folder=target.is_folder,
    )


def _owners_values(array: DistributedArray, box: Box) -> np.ndarray:
    values = np.empty(box.shape, array.dtype)
    lower, upper = ([i + first for i, (first, _) in zip(corner, array.bounds)] for corner in box)
    array._native.get_from_owners(lower, upper, bytes_of(values))
    return values


def load(
    file: File,
    dtype: Any = None,
    *,
    shape: Optional[Sequence[int]] = None,
    name: Optional[str] = None,
    format: Optional[str] = None,
    offset: int = 0,
    mpi_io: Optional[MpiIo] = None,
    distribution: type[DistributedArray] = BlockArray,
    **how: Any,
) -> Union[DistributedArray, SparseMatrix]:
    """An array with what a file has, with indices from 0. Collective.

    For the format and `name` see `save()`; without a name an HDF5 file has one dataset. `distribution` is
    the type of the result; `how` has `grid` and `block` as for its constructor. A file of .npy or raw bytes
    is mapped, and each rank reads its own part. Of others each rank reads a share and sends it to its owners.
    A file of .npz or .mtx gives a `SparseMatrix`; rank 0 reads it. `mpi_io` is as for `save()`.

    `dtype` and `shape`: what the file has to have, in any byte order. Raw files need the dtype, and are of
    one dimension by default; `offset` is where they begin, in bytes.

    Raises Error in all ranks if a rank cannot read the file, or it has another dtype or shape.
    """
    mpi_io = None if mpi_io is False else mpi_io
    place = _place(file, format, name=name, offset=offset or None, mpi_io=mpi_io)
    asked = Asked(
        None if dtype is None else np.dtype(dtype),
        None if shape is None else tuple(shape) if np.iterable(shape) else (shape,),
    )
    given = said(dtype=dtype, shape=shape, name=name, offset=offset or None, mpi_io=mpi_io, **how)
    if place.format in _SPARSE:
        what = f"load of {place.given!r} as SparseMatrix{given}"
        exchange(what)
        matrix = load_sparse(what, place.path, place.format)
        _check_kind(what, Kind(matrix.shape, matrix.dtype), asked)
        return matrix
    what = f"load of {place.given!r} as {distribution.__name__}{given}"
    source = _format_at(place, name, None, asked, offset)
    exchange(what)
    hints = _hints(what, mpi_io)
    return _load_dense(what, source, asked, hints, lambda kind: distribution(kind.shape, kind.dtype, **how))


def _load_dense(
    what: str,
    source: Format,
    asked: Asked,
    hints: Optional[Hints],
    make: Callable[[Kind], DistributedArray],
) -> DistributedArray:
    remedy = "let all ranks have the file, and read it"
    with contextlib.ExitStack() as opened:
        stored: list[Stored] = []

        def open_it() -> str:
            stored.append(opened.enter_context(source.open()))
            return f"{stored[0].kind.dtype} of shape {stored[0].kind.shape}"

        seen = sorted(set(together(what, open_it, remedy)))
        if len(seen) > 1:
            raise Error(f"{what} (ranks see different files: {' and '.join(seen)}): let all have the same")
        (here,) = stored
        _check_kind(what, here.kind, asked)
        array = make(here.kind)
        if hints is None or not _is_in_c_order(here):
            together(what, lambda: _read(array, here, what), remedy)
        else:
            there = Elements(source.path, getattr(here.elements, "offset", 0), here.kind)
            move_elements(what, there, array, hints, remedy, writes=False)
    return array


def _is_in_c_order(stored: Stored) -> bool:
    return stored.unit is None and stored.elements.flags.c_contiguous


class Place(NamedTuple):
    """A file: its name as given, its path without links, and the format's name."""

    given: str
    path: str
    format: str


def _place(file: File, format: Optional[str], **options: Any) -> Place:
    """Raises Error if the format is not known, or does not have one of the options."""
    given = os.fsdecode(file).rstrip(os.sep)
    known = format or _SUFFIXES.get(os.path.splitext(given)[1].lower())
    if known not in _SUFFIXES.values():
        raise Error(
            f"{given} (its format is not known by its name, nor by format={format!r}): use the end "
            f"{', '.join(_SUFFIXES)}, or a format of {', '.join(dict.fromkeys(_SUFFIXES.values()))}"
        )
    for word, value in options.items():
        formats = _FORMATS_WITH[word]
        if value is not None and known not in formats:
            raise Error(f"{word}={value!r} for {given} (only {' and '.join(formats)} has it): leave it out")
    return Place(given, os.path.realpath(given), known)


def _format_at(
    place: Place, name: Optional[str], chunks: Optional[Sequence[int]], asked: Asked, offset: int = 0
) -> Format:
    if place.format == "npy":
        return Npy(place.path)
    if place.format != "raw":
        return (Hdf5 if place.format == "hdf5" else Zarr)(place.path, name, chunks)
    if asked.dtype is None:
        raise Error(f"{place.given} (a raw file does not say what it has): give the dtype")
    return Raw(place.path, asked.dtype, asked.shape, offset)


def _check_kind(what: str, kind: Kind, asked: Asked) -> None:
    """Raises Error for another kind of array than the program wants, and for one that no array is."""
    # Files of Zarr keep the byte order to themselves.
    dtype = None if asked.dtype is None else asked.dtype.newbyteorder("=")
    for word, there, wanted in (
        ("dtype", kind.dtype.newbyteorder("="), dtype),
        ("shape", kind.shape, asked.shape),
    ):
        if wanted is not None and there != wanted:
            raise Error(f"{what} (the file has the {word} {there}): leave {word} out, or give that one")
    if not 1 <= len(kind.shape) <= 4:
        raise Error(
            f"{what} (it has {len(kind.shape)} dimensions, and there are arrays of 1 to 4): reshape it"
        )


def _read(array: DistributedArray, stored: Stored, what: str) -> None:
    if stored.unit is None:
        _read_own(array, stored, what)
        return
    kind, ranks = stored.kind, _native.ranks()
    box = box_shape(kind.shape, kind.dtype.itemsize, ranks, stored.unit)
    boxes = list(boxes_of(kind.shape, box, _native.rank(), ranks))

    def move(box: Box) -> None:
        values = np.ascontiguousarray(stored.elements[box.slices], kind.dtype)
        array._native.put(list(box.lower), list(box.upper), [], b"", bytes_of(values))

    each(boxes, kind.dtype.itemsize, what, move)


def _read_own(array: DistributedArray, stored: Stored, what: str) -> None:
    """Own elements from mapped memory."""
    own, indices = array.local, array.local_indices
    if own.size == 0:
        return
    row_bytes = own[0].size * own.itemsize

    def move(box: Box) -> None:
        (part,) = box.slices
        own[part] = stored.elements[key_of([indices[0][part], *indices[1:]])]

    each(row_boxes(len(own), row_bytes), row_bytes, what, move)
