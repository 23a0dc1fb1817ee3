# SPDX-License-Identifier: Apache-2.0
"""How the pictures look."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from bench.harness import ACCESS_TYPES, Spread  # noqa: E402

COLORS = {
    "hits": "#1b7837",
    "pending_hits": "#5aae61",
    "partial_hits": "#a6dba0",
    "direct": "#4393c3",
    "conflicting": "#f4a582",
    "capacity": "#d6604d",
    "failing": "#b2182b",
    "bypassed": "#bababa",
}
"""Of the access types."""

plt.rcParams.update(
    {
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "figure.dpi": 120,
    }
)


def panels(count: int, columns: int = 3, width: float = 4.2, height: float = 3.2) -> tuple[Any, list[Any]]:
    """A figure with `count` axes, at most `columns` side by side."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    axes = [axis for line in grid for axis in line]
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def modes(
    rows: Sequence[dict[str, Any]],
    text: Callable[[dict[str, Any]], str],
    path: Path,
    title: str,
    log: bool = True,
) -> None:
    """One panel for each `what`: the `seconds` of each `mode`, with a text beside."""
    labels = list(dict.fromkeys(row["what"] for row in rows))
    figure, axes = panels(len(labels))
    for axis, label in zip(axes, labels):
        shown = [row for row in rows if row["what"] == label]
        bars = axis.barh(
            [row["mode"] for row in shown], [row["seconds"] for row in shown], color=COLORS["direct"]
        )
        axis.bar_label(bars, [text(row) for row in shown], fontsize=6, padding=2)
        if log:
            axis.set_xscale("log")
        axis.margins(x=0.6 if log else 0.2)
        axis.invert_yaxis()
        axis.set_title(label)
        axis.set_xlabel("s")
    save(figure, path, title)


def save(figure: Any, path: Path, title: str) -> None:
    """Writes the figure to `path`."""
    figure.suptitle(title)
    # Room for a legend of the whole figure.
    figure.tight_layout(rect=(0, 0.04 if figure.legends else 0, 1, 1))
    figure.savefig(path)
    plt.close(figure)


def line(axis: Any, xs: Sequence[float], spreads: Sequence[Spread], label: str, **style: Any) -> None:
    """Medians as a line, quartiles as a band."""
    drawn = axis.plot(
        xs, [spread.median for spread in spreads], label=label, marker="o", markersize=3, **style
    )
    color = drawn[0].get_color()
    axis.fill_between(xs, [s.low for s in spreads], [s.high for s in spreads], alpha=0.15, color=color)


def size_axis(axis: Any, sizes: Sequence[int], label: str) -> None:
    """A logarithmic axis of sizes in bytes."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(sizes), [size_text(size) for size in sizes], rotation=45)
    axis.minorticks_off()
    axis.set_xlabel(label)


def size_text(size_bytes: float) -> str:
    """For example 64K."""
    for unit in ("", "K", "M"):
        if size_bytes < 1024:
            return f"{size_bytes:g}{unit}"
        size_bytes /= 1024
    return f"{size_bytes:g}G"


def access_types(axis: Any, labels: Sequence[str], shares: Sequence[Mapping[str, float]]) -> None:
    """Stacked bars of the access types, one bar per label."""
    bottoms = [0.0] * len(labels)
    for name in ACCESS_TYPES:
        heights = [share[name] for share in shares]
        if any(heights):
            axis.bar(
                labels, heights, bottom=bottoms, color=COLORS[name], label=name.replace("_", " "), width=0.7
            )
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights)]
    axis.set_ylim(0, 1)
    axis.set_ylabel("share of the gets")
    axis.grid(axis="x", visible=False)
