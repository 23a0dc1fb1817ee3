# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the site. `build.py` beside it lays out the pages and calls Sphinx."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import nearfetch  # noqa: E402

project = "nearfetch"
author = "The nearfetch authors"
project_copyright = author
version = release = nearfetch.__version__

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
default_role = "code"
# The namespace is declared in every header.
suppress_warnings = ["duplicate_declaration.cpp"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

breathe_default_project = "nearfetch"
breathe_default_members = ("members",)
breathe_show_include = False
# Sphinx reads declarations itself, and knows no attributes but these.
cpp_id_attributes = ["NEARFETCH_API", "NEARFETCH_WEAK"]

autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
# The page of contents names functions, not whose they are.
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"nearfetch {release}"
html_show_sphinx = False
html_copy_source = False
pygments_style = "tango"
# Blocks without a language are diagrams and commands.
highlight_language = "none"


def _import_without_native_parts() -> None:
    """Imports the Python package, of which only docstrings are wanted, with stubs of its native parts."""

    # Classes that signatures show.
    classes = ("Datatype", "Info", "Intracomm", "Win")
    shown = {name: type(name, (), {"__module__": "mpi4py.MPI"}) for name in classes}
    native = mock.MagicMock(name="nearfetch._native")
    mpi = mock.MagicMock(name="mpi4py.MPI", **shown)
    stands_in = {
        "nearfetch._native": native,
        "nearfetch.native": types.SimpleNamespace(_native=native),
        "mpi4py": types.SimpleNamespace(MPI=mpi),
        "mpi4py.MPI": mpi,
    }
    with mock.patch.dict(sys.modules, stands_in), mock.patch("ctypes.CDLL"):
        for name in nearfetch.__all__:
            getattr(nearfetch, name)


_import_without_native_parts()
