# SPDX-License-Identifier: Apache-2.0
"""The location of nearfetch's files: its libraries, and the program with the settings table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Optional

from nearfetch import NearfetchError
from nearfetch.families import FAMILIES


class Layout(NamedTuple):
    """The folders of an installed or built nearfetch."""

    libraries: Path
    """Folder of libnearfetch_mpi_<family>.so, and of libnearfetch_record_<family>.so."""
    settings_program: Path
    """The program nearfetch-settings."""
    module: Optional[Path] = None
    """Folder of the native module, if it is not the package's."""

    @classmethod
    def of_build(cls, build: Path) -> Layout:
        """The layout of the build folder `build`."""
        return cls(
            build / "lib", build / "bin" / "nearfetch-settings", build.resolve() / "python" / "nearfetch"
        )

    @classmethod
    def of_source_tree(cls) -> Layout:
        """The release build of the source tree that this file belongs to."""
        return cls.of_build(Path(__file__).resolve().parents[2] / "build" / "release")

    @classmethod
    def of_this(cls) -> Layout:
        """The layout of the nearfetch that this file belongs to, installed or in a source tree.

        In a source tree NEARFETCH_BUILD may name the build folder.
        """
        try:
            from nearfetch import _installed  # type: ignore[attr-defined]
        except ImportError:
            named = os.environ.get("NEARFETCH_BUILD")
            return cls.of_build(Path(named)) if named else cls.of_source_tree()
        package = Path(__file__).resolve().parent
        return cls((package / _installed.LIBRARIES).resolve(), (package / _installed.SETTINGS).resolve())

    @property
    def report_program(self) -> Path:
        """The program nearfetch-report."""
        return self.settings_program.with_name("nearfetch-report")

    @property
    def advise_program(self) -> Path:
        """The program nearfetch-advise."""
        return self.settings_program.with_name("nearfetch-advise")

    def python_library(self, family: str) -> Path:
        """The library that runs arrays on the MPI `family`.

        Raises NearfetchError if there is none, naming the families that were built.
        """
        path = self.libraries / f"libnearfetch_python_{family}.so"
        if not path.is_file():
            built = sorted(
                found.stem[len("libnearfetch_python_") :]
                for found in self.libraries.glob("libnearfetch_python_*.so")
            )
            raise NearfetchError(
                f"arrays cannot run on {FAMILIES[family].title} (this nearfetch was built for: "
                f"{', '.join(built) or 'no MPI'}): build nearfetch where that is installed"
            )
        return path

    def interposer(self, family: str, kind: str = "mpi") -> Path:
        """The interposer for `family`; of the kind "record" the recorder, which is loaded in its place.

        Raises NearfetchError if there is none, naming the families that were built.
        """
        path = self._path(family, kind)
        if path.is_file():
            return path
        built = [name for name in FAMILIES if self._path(name, kind).is_file()]
        if not built:
            raise NearfetchError(
                f"no interposer in {self.libraries} (nearfetch is not built): "
                "run ./nf setup, or install nearfetch"
            )
        raise NearfetchError(
            f"no interposer for the MPI family {family} (this nearfetch was built for: {', '.join(built)}): "
            f"build nearfetch where {FAMILIES[family].title} is installed, "
            "or start a program of another family"
        )

    def _path(self, family: str, kind: str) -> Path:
        return self.libraries / f"libnearfetch_{kind}_{family}.so"
