# SPDX-License-Identifier: Apache-2.0
"""An in-memory store of training samples over MPI windows, as data-parallel training uses one.

    mpiexec -n 4 python apps/python/sample_store.py

Needs mpi4py. Samples of different lengths are dealt out over the ranks. In each epoch all samples are
shuffled, and each rank reads its share of them: by a lock, a get and an unlock for each sample. With
`--index window` the place of a sample is read first, in the same way. With `--allreduce` the ranks add up a
gradient after each batch, as training does. Every byte that is read is checked.

mpi4py asks for several threads, which Open MPI's windows over TCP refuse, and with which nearfetch elides no
lock. The program has a single one: MPI4PY_RC_THREAD_LEVEL=funneled says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Optional, TextIO

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.Get_rank(), COMM.Get_size()

HEADER_BYTES = 16
"""Of a record: the number of its sample and the checksum of its bytes."""
PLACE_BYTES = 16
"""Of a sample in an index: offset and length of its record."""
GRADIENT = np.ones(1000)


class Parser(argparse.ArgumentParser):
    """Every rank parses, rank 0 speaks."""

    def error(self, message: str) -> NoReturn:
        """Ends the program for a bad command line."""
        if RANK == 0:
            print(f"{self.prog}: {message} (bad command line): see {self.prog} --help", file=sys.stderr)
        sys.exit(2)

    def print_help(self, file: Optional[Any] = None) -> None:
        """Prints the help once."""
        if RANK == 0:
            super().print_help(file)


def whole(least: int, most: int) -> Any:
    """What an option takes: a whole number of a range."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to {most}")

    return parse


def info_pair(text: str) -> tuple[str, str]:
    """A key and a value of an info object."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    if len(key) >= MPI.MAX_INFO_KEY or len(value) >= MPI.MAX_INFO_VAL:
        raise argparse.ArgumentTypeError(f"'{text[:20]}...' is longer than this MPI library allows")
    return key, value


def parse_options() -> argparse.Namespace:
    """The command line, the same on every rank."""
    parser = Parser(
        prog="sample_store",
        description=__doc__.splitlines()[0],
        allow_abbrev=False,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--samples", type=whole(1, 10**7), default=1200, help="of all ranks together")
    parser.add_argument("--epochs", type=whole(1, 10**6), default=5, help="in each all samples are read")
    parser.add_argument("--batch", type=whole(1, 10**7), default=16, help="samples of a rank in a batch")
    size = whole(0, 1 << 30)
    parser.add_argument("--min-bytes", type=size, default=1 << 10, help="of a sample")
    parser.add_argument("--max-bytes", type=size, default=16 << 10, help="of a sample")
    parser.add_argument(
        "--index",
        choices=("known", "window"),
        default="known",
        help="where samples are: known to all ranks, or read from a window",
    )
    parser.add_argument("--allreduce", action="store_true", help="add up a gradient after each batch")
    parser.add_argument("--seed", type=whole(0, 10**6), default=1, help="of all that is left to chance")
    parser.add_argument(
        "--info", type=info_pair, action="append", default=[], metavar="KEY=VALUE", help="for the windows"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file, too")
    options = parser.parse_args()
    if options.min_bytes > options.max_bytes:
        parser.error(f"--min-bytes {options.min_bytes} is above --max-bytes {options.max_bytes}")
    if options.samples < RANKS:
        parser.error(f"--samples {options.samples} are fewer than the {RANKS} ranks that share them")
    return options


class Places(NamedTuple):
    """Where the records of all samples are. Sample i is the one of number i // ranks of rank i % ranks."""

    offset: np.ndarray
    length: np.ndarray

    def bytes_of(self, rank: int) -> int:
        """What the records of a rank take."""
        return int(self.length[rank::RANKS].sum())


def place_samples(options: argparse.Namespace) -> Places:
    """Deals the samples out, with lengths left to chance."""
    random = np.random.default_rng([options.seed, 0])
    sizes = random.integers(options.min_bytes, options.max_bytes, options.samples, endpoint=True)
    length = sizes.astype(np.int64) + HEADER_BYTES
    offset = np.zeros_like(length)
    for rank in range(RANKS):
        offset[rank::RANKS][1:] = np.cumsum(length[rank::RANKS])[:-1]
    return Places(offset, length)


def make_record(options: argparse.Namespace, sample: int, length: int) -> np.ndarray:
    """The bytes of a sample, with their header."""
    record = np.random.default_rng([options.seed, 1, sample]).integers(0, 256, length, np.uint8)
    record[:HEADER_BYTES].view(np.uint64)[:] = sample, zlib.crc32(record[HEADER_BYTES:])
    return record


class SharedBytes:
    """Memory of each rank that all read."""

    def __init__(self, own_bytes: int, info: MPI.Info) -> None:
        """Collective."""
        self._win = MPI.Win.Allocate(own_bytes, 1, info, COMM)
        self.own = np.frombuffer(self._win.tomemory(), np.uint8)
        self.remote_gets = 0
        self.remote_bytes = 0

    def fill(self, parts: list[np.ndarray]) -> None:
        """Stores the parts one behind the other. Collective."""
        self._win.Lock(RANK, MPI.LOCK_EXCLUSIVE)
        if parts:
            np.concatenate(parts, out=self.own)
        self._win.Unlock(RANK)
        COMM.Barrier()

    def read(self, rank: int, offset: int, buffer: np.ndarray) -> None:
        """Fills the buffer: by a lock, a get and an unlock where another rank has the bytes."""
        if rank == RANK:
            buffer[:] = self.own[offset : offset + buffer.size]
            return
        self._win.Lock(rank, MPI.LOCK_SHARED)
        self._win.Get([buffer, buffer.size, MPI.BYTE], rank, offset)
        self._win.Unlock(rank)
        self.remote_gets += 1
        self.remote_bytes += buffer.size

    def free(self) -> None:
        """Collective."""
        del self.own
        self._win.Free()


class Store:
    """The samples of all ranks, and where they are."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Collective."""
        places = place_samples(options)
        info = MPI.Info.Create()
        for key, value in options.info:
            info.Set(key, value)
        self._records = SharedBytes(places.bytes_of(RANK), info)
        own = range(RANK, options.samples, RANKS)
        self._records.fill([make_record(options, i, int(places.length[i])) for i in own])
        self._index: Optional[SharedBytes] = None
        if options.index == "window":
            table = np.stack([places.offset[RANK::RANKS], places.length[RANK::RANKS]], axis=1)
            self._index = SharedBytes(table.nbytes, info)
            self._index.fill([np.ascontiguousarray(table).view(np.uint8).ravel()])
        info.Free()
        self._places = places
        self._place = np.empty(PLACE_BYTES, np.uint8)
        self._buffer = np.empty(options.max_bytes + HEADER_BYTES, np.uint8)
        self.seconds = 0.0
        self.bytes = int(places.length.sum())

    def read(self, sample: int) -> np.ndarray:
        """The record of a sample; valid until the next read."""
        begin = time.perf_counter()
        owner = sample % RANKS
        if self._index is None:
            offset, length = int(self._places.offset[sample]), int(self._places.length[sample])
        else:
            self._index.read(owner, sample // RANKS * PLACE_BYTES, self._place)
            offset, length = (int(word) for word in self._place.view(np.int64))
            if not HEADER_BYTES <= length <= self._buffer.size:
                raise ValueError(f"the index has a length of {length} for sample {sample}")
        record = self._buffer[:length]
        self._records.read(owner, offset, record)
        self.seconds += time.perf_counter() - begin
        return record

    def count(self, what: str) -> int:
        """`remote_gets` or `remote_bytes` of this rank."""
        return sum(getattr(shared, what) for shared in (self._records, self._index) if shared)

    def free(self) -> None:
        """Collective."""
        self._records.free()
        if self._index:
            self._index.free()


class Outcome(NamedTuple):
    """Of this rank's reads."""

    digest: int
    """Does not depend on which rank has read which sample."""
    wrong: int
    seconds: float


def train(store: Store, options: argparse.Namespace) -> Outcome:
    """Reads all samples once in each epoch."""
    digest = wrong = 0
    total = np.empty_like(GRADIENT)
    # As many batches on each rank, for the ranks meet after each.
    batches = -(-options.samples // (RANKS * options.batch))
    COMM.Barrier()
    begin = time.perf_counter()
    for epoch in range(options.epochs):
        mine = np.random.default_rng([options.seed, 2, epoch]).permutation(options.samples)[RANK::RANKS]
        for batch in range(batches):
            for sample in mine[batch * options.batch : (batch + 1) * options.batch].tolist():
                record = store.read(sample)
                number, checksum = (int(word) for word in record[:HEADER_BYTES].view(np.uint64))
                wrong += number != sample or checksum != zlib.crc32(record[HEADER_BYTES:])
                digest += (epoch + 1) * checksum
            if options.allreduce:
                COMM.Allreduce(GRADIENT, total)
                wrong += bool(np.any(total != RANKS))
    return Outcome(digest, wrong, time.perf_counter() - begin)


def open_json(path: Optional[Path]) -> tuple[Optional[TextIO], str]:
    """The file of results, on rank 0 if one is wanted; and to all ranks the problem, if there is one."""
    file, problem = None, ""
    if path and RANK == 0:
        try:
            file = path.open("w", encoding="utf-8")
        except OSError as error:
            problem = f"{path} cannot be written ({error.strerror}): check the path and its permissions"
    return file, COMM.bcast(problem)


def main() -> int:
    """Runs what the command line asks for; returns the exit status, the same on every rank."""
    options = parse_options()
    file, problem = open_json(options.json)
    if problem:
        if RANK == 0:
            print(f"sample_store: {problem}", file=sys.stderr)
        return 2
    store = Store(options)
    outcome = train(store, options)
    gets = COMM.gather(store.count("remote_gets"))
    fetched = COMM.reduce(store.count("remote_bytes"))
    digest, wrong = COMM.allreduce(outcome.digest), COMM.allreduce(outcome.wrong)
    communication, total = COMM.allreduce(store.seconds, MPI.MAX), COMM.allreduce(outcome.seconds, MPI.MAX)
    if RANK == 0:
        results = {
            "ranks": RANKS,
            "samples": options.samples,
            "bytes": store.bytes,
            "epochs": options.epochs,
            "digest": digest,
            "wrong": wrong,
            "remote_gets": sum(gets),
            "remote_bytes": fetched,
            "communication_seconds": communication,
            "total_seconds": total,
        }
        for name, value in results.items():
            print(name, value)
        sys.stdout.flush()
        if file:
            with file:
                json.dump({**results, "remote_gets_per_rank": gets}, file, indent=2)
    store.free()
    if wrong and RANK == 0:
        print(f"sample_store: {wrong} reads are wrong (they have other bytes): report it", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
