# SPDX-License-Identifier: Apache-2.0
"""Edge detection by Sobel's operator on distributed pixels (LAPPS, section 6.3), shown before and after.

    python apps/python/sobel.py --ranks 4 --output sobel.png        # threads
    mpiexec -n 4 python apps/python/sobel.py --output sobel.png     # processes

The same as the C++ program `sobel` computes, to the pixel. The picture is the photograph of Grace Hopper that
matplotlib brings as its example, an official one of the US Navy and as such in the public domain; or, by
--picture, any other that matplotlib reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nearfetch
from nearfetch import BlockArray, barrier, launch, rank, statistics


def read_picture(path: Path | None) -> np.ndarray:
    """Shades of grey, 0 is black and 255 white: of colours their luma (ITU-R BT.601), as bytes."""
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


def edges_of(near: np.ndarray) -> np.ndarray:
    """Of each pixel that has eight neighbours: how much their shades differ, across and down."""
    shade = near.astype(np.int32)
    above, beside, below = shade[:-2], shade[1:-1], shade[2:]
    weighted = above + 2 * beside + below
    across = weighted[:, 2:] - weighted[:, :-2]
    sums = shade[:, :-2] + 2 * shade[:, 1:-1] + shade[:, 2:]
    down = sums[2:] - sums[:-2]
    return np.minimum(255, np.abs(across) + np.abs(down)).astype(np.uint8)


def detect(pixels: BlockArray, edges: BlockArray) -> None:
    """The outermost pixels, which do not have eight neighbours, stay black."""
    near, box = pixels.with_halo(1)
    found = np.zeros(near.shape, np.uint8)
    if min(near.shape) > 2:
        found[1:-1, 1:-1] = edges_of(near)
    own = tuple(
        slice(mine.start - all_of.start, mine.stop - all_of.start)
        for mine, all_of in zip(pixels.local_box, box)
    )
    edges.local[...] = found[own]


def program(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, int] | None:
    """What each rank does; rank 0 returns the picture, its edges and how many messages detecting took it."""
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
    """Before and after, side by side."""
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
    shape = read_picture(options.picture).shape
    segment_bytes = 2 * int(np.prod(shape)) + (1 << 16)
    found = launch(program, options.ranks, args=[options], segment_bytes=segment_bytes)[0]
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
