# SPDX-License-Identifier: Apache-2.0
"""The elements of a file by collective MPI-IO: the MPI library makes large requests of all ranks' parts.

The array is cut into boxes that are contiguous in the file. All ranks move their own elements of one box,
tell each other how that went, and go on to the next. A box is no larger than what the library moves by one
request of each rank that accesses the file for the others: in a call of several an error of one rank can
leave the others waiting.

The library has to be one whose MPI-IO is ROMIO, or made of it. Open MPI's own, OMPIO, tells no rank that a
write has failed.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Mapping, NamedTuple, Optional

from nearfetch import boxes
from nearfetch.agreement import together
from nearfetch.arrays import DistributedArray
from nearfetch.boxes import Box, box_shape, boxes_of, each
from nearfetch.elements import bytes_of
from nearfetch.errors import Error
from nearfetch.formats import Kind
from nearfetch.numerical import np
from nearfetch.processes import communicator, mpi

__all__ = ["Elements", "Hints", "move_elements", "require_mpi_io"]

# Where mpiexec's --mca io is in its processes.
_OPEN_MPI_CHOICE = "OMPI_MCA_io"

Hints = Mapping[str, str]
"""What MPI_File_open takes, such as {"striping_factor": "8"}."""


class Elements(NamedTuple):
    """The elements of an array in a file, in C order."""

    path: str
    begin: int
    """Where they begin, in bytes."""
    kind: Kind


def require_mpi_io() -> None:
    """Raises Error if the program cannot use MPI-IO: there is no mpi4py, or it is Open MPI's own."""
    is_open_mpi = mpi().Get_library_version().startswith("Open MPI")
    if is_open_mpi and "romio" not in os.environ.get(_OPEN_MPI_CHOICE, ""):
        raise Error(
            "mpi_io with Open MPI's own MPI-IO (it does not say when a write has failed): leave mpi_io out, "
            "or start by mpiexec --mca io NAME, the name of its ROMIO in `ompi_info | grep 'MCA io'`"
        )


def move_elements(
    what: str, there: Elements, array: DistributedArray, hints: Hints, remedy: str, *, writes: bool
) -> None:
    """Each rank writes its own elements to a file, which is as long as it is going to be, or reads them.

    Collective. Raises Error in all ranks if a rank fails.
    """
    mover = _Mover(there, array, writes)

    def all_do(step: Callable[[], Optional[str]]) -> list[str]:
        return together(what, lambda: _in_one_line(step), remedy)

    limit = all_do(lambda: mover.open(hints))[0]
    itemsize = there.kind.dtype.itemsize
    shape = box_shape(there.kind.shape, itemsize, 1, limit_bytes=int(limit))
    cut = list(boxes_of(there.kind.shape, shape))
    following = iter([*cut[1:], None])

    try:
        all_do(lambda: mover.prepare(cut[0] if cut else None))
        each(cut, itemsize, what, lambda box: all_do(lambda: mover.move(next(following))))
        all_do(mover.sync)
    except Error:
        with contextlib.suppress(Error):
            all_do(mover.close)
        raise
    all_do(mover.close)


def _in_one_line(step: Callable[[], Optional[str]]) -> Optional[str]:
    """What the step returns; of MPI's errors the text, which may be a stack of lines."""
    try:
        return step()
    except mpi().Exception as problem:
        raise OSError(" ".join(str(problem).split())) from problem


class _Part:
    """What a rank owns of a box."""

    def __init__(self, mover: _Mover, box: Box) -> None:
        places, runs = [], []
        for numbers, first, end in zip(mover.indices, box.lower, box.upper):
            begin, stop = np.searchsorted(numbers, [first, end])
            places.append(slice(begin, stop))
            runs.append(_runs(numbers[begin:stop] - first))
        kind = mover.there.kind
        self.where = tuple(places)
        own = mover.own[self.where]
        self.values = (
            np.ascontiguousarray(own, kind.dtype) if mover.writes else np.empty(own.shape, kind.dtype)
        )
        self.begin = int(np.ravel_multi_index(box.lower, kind.shape)) * kind.dtype.itemsize
        self.view = _view(runs, box, kind.dtype.itemsize) if own.size else mpi().BYTE

    def free(self) -> None:
        """The datatype is needed no more."""
        if not self.view.is_predefined:
            self.view.Free()


class _Mover:
    """Moves a rank's own elements between memory and a file, a box at a time.

    `prepare` is local. The others are collective.
    """

    def __init__(self, there: Elements, array: DistributedArray, writes: bool) -> None:
        self.there, self.writes = there, writes
        self.own = array.local
        self.indices = [own - lower for own, (lower, _) in zip(array.local_indices, array.bounds)]
        self._file: Any = None
        self._part: Optional[_Part] = None

    def open(self, hints: Hints) -> str:
        """Returns how many bytes of the file may be moved at a time."""
        library = mpi()
        info = library.Info.Create(hints)
        try:
            mode = library.MODE_WRONLY if self.writes else library.MODE_RDONLY
            self._file = library.File.Open(communicator(), self.there.path, mode, info)
        finally:
            info.Free()
        taken = self._file.Get_info()
        try:
            # In Open MPI ROMIO does not say. Its buffer is no smaller.
            buffer = int(taken.Get("cb_buffer_size") or boxes.BOX_BYTES)
            movers = int(taken.Get("cb_nodes") or 1)
        finally:
            taken.Free()
        return str(movers * min(buffer, boxes.BOX_BYTES))

    def prepare(self, box: Optional[Box]) -> None:
        """Gets ready to move a box, if there is one."""
        self._part = None if box is None else _Part(self, box)

    def move(self, following: Optional[Box]) -> None:
        """Moves the box that is ready, and prepares the following one."""
        part, library, status = self._part, mpi(), mpi().Status()
        assert part is not None
        data = [bytes_of(part.values), part.values.nbytes, library.BYTE]
        self._file.Set_view(self.there.begin + part.begin, library.BYTE, part.view)
        (self._file.Write_all if self.writes else self._file.Read_all)(data, status)
        part.free()
        if status.Get_count(library.BYTE) != part.values.nbytes:
            raise OSError(
                f"{status.Get_count(library.BYTE)} of {part.values.nbytes} bytes of {self.there.path} were "
                + ("written" if self.writes else "there")
            )
        if not self.writes:
            self.own[part.where] = part.values
        self.prepare(following)

    def sync(self) -> None:
        """What was written leaves the process."""
        if self.writes:
            self._file.Sync()

    def close(self) -> None:
        """Whatever has happened."""
        self._file.Close()


def _runs(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First numbers and lengths of the runs of consecutive numbers."""
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 2) != 1)
    return numbers[begins], np.diff(begins, append=numbers.size)


def _view(runs: list[tuple[np.ndarray, np.ndarray]], box: Box, itemsize: int) -> Any:
    """The datatype of a part's bytes in the box, which is contiguous in the file."""
    made = mpi().BYTE.Create_contiguous(itemsize)
    extent = itemsize
    for (firsts, lengths), count in zip(reversed(runs), reversed(box.shape)):
        extent *= count
        for make in (
            lambda kind: kind.Create_indexed(lengths, firsts),  # noqa: B023
            lambda kind: kind.Create_resized(0, extent),  # noqa: B023
        ):
            inner, made = made, make(made)
            inner.Free()
    return made.Commit()
