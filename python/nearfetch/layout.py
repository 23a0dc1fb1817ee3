# SPDX-License-Identifier: Apache-2.0
"""Where the parts of one nearfetch lie: the interposers, and the program that knows the settings."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nearfetch import NearfetchError
from nearfetch.families import FAMILIES


class Layout(NamedTuple):
    """The folders of an installed, or of a built, nearfetch."""

    libraries: Path
    """Folder of libnearfetch_mpi_<family>.so."""
    settings_program: Path
    """The program nearfetch-settings."""

    @classmethod
    def of_build(cls, build: Path) -> Layout:
        """The layout of the build folder `build`."""
        return cls(build / "lib", build / "bin" / "nearfetch-settings")

    @classmethod
    def of_source_tree(cls) -> Layout:
        """The release build of the source tree that this file belongs to."""
        return cls.of_build(Path(__file__).resolve().parents[2] / "build" / "release")

    def interposer(self, family: str) -> Path:
        """The interposer built for `family`.

        Raises NearfetchError, naming the families that were built, where there is none.
        """
        path = self._path(family)
        if path.is_file():
            return path
        built = [name for name in FAMILIES if self._path(name).is_file()]
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

    def _path(self, family: str) -> Path:
        return self.libraries / f"libnearfetch_mpi_{family}.so"
