# SPDX-License-Identifier: Apache-2.0
"""MPI windows with mpi4py's names, whose gets go through nearfetch's range cache.

    from nearfetch import Window          # before mpi4py.MPI is imported, or under `nearfetch run`
    from mpi4py import MPI

    window = Window.Allocate(1 << 20, comm=MPI.COMM_WORLD, mode="always-cache", buffer_bytes="64MiB")
    with window.reading():
        window.Get(buffer, target)        # repeated gets are served by the cache
        window.Flush(target)

The cache is between mpi4py and the MPI library, so nearfetch's library has to be loaded before mpi4py.MPI.
`nearfetch run` loads it; otherwise importing this module does.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any, Iterator, Optional

from nearfetch import mpi_library
from nearfetch.errors import Error
from nearfetch.layout import Layout

__all__ = ["Window"]


def _interposer() -> ctypes.CDLL:
    """nearfetch's library in this process, loaded before the MPI library.

    Raises Error if MPI is already loaded, and if there is no MPI.
    """
    here = ctypes.CDLL(None)
    if hasattr(here, "nearfetch_win_stats"):
        return here
    if "mpi4py.MPI" in sys.modules:
        raise Error(
            "nearfetch.Window (mpi4py.MPI was imported before it, and calls the MPI library directly): "
            "import nearfetch.Window first, or start the program by `nearfetch run -- mpiexec ...`"
        )
    from nearfetch.native import _native

    library = mpi_library.find()
    # In this order: MPI's symbols have to be found in the interposer first.
    _native.load_globally(str(Layout.of_this().interposer(library.family)))
    _native.load_globally(str(library.path))
    return ctypes.CDLL(None)


_library = _interposer()

try:
    from mpi4py import MPI
except ImportError as _problem:
    raise Error(
        f"nearfetch.Window (it is one of mpi4py's windows, and mpi4py cannot be imported: {_problem}): "
        "pip install mpi4py"
    ) from None

_HANDLE = ctypes.c_void_p if MPI._sizeof(MPI.Win) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
_TYPE = ctypes.c_void_p if MPI._sizeof(MPI.Datatype) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
_library.nearfetch_win_invalidate.argtypes = [_HANDLE]
_library.nearfetch_win_prefetch.argtypes = [_HANDLE, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_int64, _TYPE]
_library.nearfetch_win_stats.argtypes = [_HANDLE, ctypes.c_char_p, ctypes.POINTER(ctypes.c_ulonglong)]
_library.nearfetch_counter_name.argtypes = [ctypes.c_int]
_library.nearfetch_counter_name.restype = ctypes.c_char_p


class Window(MPI.Win):
    """A window of mpi4py with cache settings.

    `mode`: when cached data is invalidated ("off", "transparent", "acquire", "user-defined",
    "always-cache"); other settings by name, as `nearfetch settings` lists them. Defaults come from the
    environment.
    """

    @classmethod
    def Create(  # noqa: N802
        cls,
        memory: Any,
        disp_unit: int = 1,
        info: MPI.Info = MPI.INFO_NULL,
        comm: MPI.Intracomm = MPI.COMM_SELF,
        *,
        mode: Optional[str] = None,
        **settings: Any,
    ) -> Window:
        """As MPI.Win.Create. Collective."""
        with _info_with_settings(info, mode, settings) as changed:
            return super().Create(memory, disp_unit, changed, comm)

    @classmethod
    def Allocate(  # noqa: N802
        cls,
        size: int,
        disp_unit: int = 1,
        info: MPI.Info = MPI.INFO_NULL,
        comm: MPI.Intracomm = MPI.COMM_SELF,
        *,
        mode: Optional[str] = None,
        **settings: Any,
    ) -> Window:
        """As MPI.Win.Allocate. Collective."""
        with _info_with_settings(info, mode, settings) as changed:
            return super().Allocate(size, disp_unit, changed, comm)

    def invalidate(self) -> None:
        """Invalidates all cached data: for the mode "user-defined", at the end of a read-only phase."""
        _check(_library.nearfetch_win_invalidate(_handle(self)))

    def prefetch(self, target: int, disp: int, count: int, datatype: MPI.Datatype = MPI.BYTE) -> None:
        """Prefetches `count` elements at displacement `disp` of `target`, in an epoch.

        They are cached after the next call that completes gets of that target.
        """
        kind = _TYPE.from_address(MPI._addressof(datatype))
        _check(_library.nearfetch_win_prefetch(_handle(self), target, disp, count, kind))

    def statistics(self) -> dict[str, int]:
        """Counters of this rank for the window, by name: gets, hits, direct, bytes_from_cache, ..."""
        counters = {}
        value = ctypes.c_ulonglong()
        for name in _counter_names():
            _check(_library.nearfetch_win_stats(_handle(self), name, ctypes.byref(value)))
            counters[name.decode()] = value.value
        return counters

    @contextlib.contextmanager
    def reading(self) -> Iterator[Window]:
        """An access epoch at all targets: Lock_all, and Unlock_all at its end."""
        self.Lock_all()
        try:
            yield self
        finally:
            self.Unlock_all()


def _counter_names() -> Iterator[bytes]:
    number = 0
    while True:
        name = _library.nearfetch_counter_name(number)
        if name is None:
            return
        yield name
        number += 1


@contextlib.contextmanager
def _info_with_settings(info: MPI.Info, mode: Optional[str], settings: dict[str, Any]) -> Iterator[MPI.Info]:
    """`info` with nearfetch's keys added; the program's own are kept."""
    changed = MPI.Info.Create() if info == MPI.INFO_NULL else info.Dup()
    try:
        if mode is not None:
            settings = {**settings, "mode": mode}
        for name, value in settings.items():
            word = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
            changed.Set(f"nearfetch_{name}", word)
        yield changed
    finally:
        changed.Free()


def _handle(window: MPI.Win) -> Any:
    return _HANDLE.from_address(MPI._addressof(window))


def _check(status: int) -> None:
    if status != MPI.SUCCESS:
        raise MPI.Exception(status)
