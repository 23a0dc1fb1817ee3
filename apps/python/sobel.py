# SPDX-License-Identifier: Apache-2.0
"""Edge detection by Sobel's operator on distributed pixels (LAPPS, section 6.3), with a picture of both.

    python apps/python/sobel.py --ranks 4 --output sobel.png        # threads
    mpiexec -n 4 python apps/python/sobel.py --output sobel.png     # processes

Needs matplotlib. Computes the same pixels as the C++ program `sobel`. The picture is matplotlib's example
photograph of Grace Hopper, an official one of the US Navy and in the public domain. --picture names another.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import numpy as np

import nearfetch
from nearfetch import BlockArray, barrier, launch, rank, statistics


def read_picture(path: Path | None) -> np.ndarray:
    """Grey levels from 0 (black) to 255 (white), as bytes; for colours the luma (ITU-R BT.601)."""
    import matplotlib.cbook
    import matplotlib.image

    path = path or Path(matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    try:
        picture = matplotlib.image.imread(path)
    except (OSError, ValueError, SyntaxError) as problem:
        raise nearfetch.Error(f"{path}: cannot be read ({problem}): name a picture") from None
    if picture.dtype.kind == "f":
        picture = picture * 255
    if picture.ndim == 3:
        picture = picture[:, :, :3] @ [0.299, 0.587, 0.114] if picture.shape[2] > 2 else picture[:, :, 0]
    return np.rint(picture).astype(np.uint8)


def edges_of(halo: np.ndarray) -> np.ndarray:
    """The gradient at each pixel with eight neighbours, from differences across and down."""
    shade = halo.astype(np.int32)
    above, beside, below = shade[:-2], shade[1:-1], shade[2:]
    weighted = above + 2 * beside + below
    across = weighted[:, 2:] - weighted[:, :-2]
    sums = shade[:, :-2] + 2 * shade[:, 1:-1] + shade[:, 2:]
    down = sums[2:] - sums[:-2]
    return np.minimum(255, np.abs(across) + np.abs(down)).astype(np.uint8)


def detect(pixels: BlockArray, edges: BlockArray) -> None:
    """Border pixels, which lack neighbours, stay black."""
    halo, box = pixels.with_halo(1)
    found = np.zeros(halo.shape, np.uint8)
    if min(halo.shape) > 2:
        found[1:-1, 1:-1] = edges_of(halo)
    own = tuple(
        slice(mine.start - all_of.start, mine.stop - all_of.start)
        for mine, all_of in zip(pixels.local_box, box)
    )
    edges.local[...] = found[own]


def program(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The program of each rank; rank 0 returns the picture, its edges and the number of messages."""
    picture = read_picture(options.picture)
    pixels = BlockArray(picture.shape, np.uint8)
    edges = BlockArray(picture.shape, np.uint8)
    pixels.local[...] = picture[pixels.local_box]
    barrier()
    with pixels.prefetch_stencil(1, consistent=False):
        before = statistics()["get_messages"]
        detect(pixels, edges)
        messages = statistics()["get_messages"] - before
        barrier()
    return (picture, edges[...], messages) if rank() == 0 else None


def show(picture: np.ndarray, edges: np.ndarray, path: Path) -> None:
    """Writes both pictures side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6))
    for axes, shown, title in zip(figure.subplots(1, 2), (picture, edges), ("before", "after")):
        axes.imshow(shown, cmap="gray", vmin=0, vmax=255)
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(path, bbox_inches="tight")


def write_pgm(picture: np.ndarray, path: Path) -> None:
    """A binary PGM file."""
    path.write_bytes(b"P5\n%d %d\n255\n" % picture.shape[::-1] + picture.tobytes())


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--picture", type=Path, help="in place of the photograph")
    parser.add_argument("--ranks", type=int, default=4, help="threads; under mpiexec as many as it starts")
    parser.add_argument("--output", type=Path, help="write both pictures to this file (PNG, PDF, SVG)")
    parser.add_argument("--before", type=Path, help="write the shades of grey to this PGM file")
    parser.add_argument("--after", type=Path, help="write the edges to this PGM file")
    options = parser.parse_args()
    if importlib.util.find_spec("matplotlib") is None:
        parser.error("matplotlib is missing (it reads and draws the pictures): pip install matplotlib")
    shape = read_picture(options.picture).shape
    found = launch(program, options.ranks, args=[options])[0]
    if found is None:
        return
    picture, edges, messages = found
    for path, shown in ((options.before, picture), (options.after, edges)):
        if path:
            write_pgm(shown, path)
    if options.output:
        show(picture, edges, options.output)
    rows, columns = shape
    print(f"{rows} x {columns} pixels, mean edge {edges.mean():.3f}, {messages} messages while detecting")


if __name__ == "__main__":
    main()
