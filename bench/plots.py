# SPDX-License-Identifier: Apache-2.0
"""Pictures of rows: lines with their intervals, bars, and stacks of access types."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence, Union

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from bench.harness import ACCESS_TYPES  # noqa: E402
from bench.report import Row  # noqa: E402

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
    size = (width * columns, height * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    axes = [axis for line in grid for axis in line]
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


class Lines(NamedTuple):
    """A line over `x` for each value of `line`, with its intervals; what has no `x` is a line across."""

    rows: Sequence[Row]
    y: str
    x: str
    line: str
    panel: Sequence[str] = ()
    """Columns: there is a panel for each of their values. Rows without a value are in each panel."""
    log: str = ""
    """Logarithmic axes: `x`, `y` or `xy`."""

    def draw(self, axis: Any, rows: Sequence[Row]) -> None:
        """Fills a panel."""
        xs = list(dict.fromkeys(row[self.x] for row in rows if row[self.x] != ""))
        numbers = all(isinstance(x, (int, float)) for x in xs)
        dashes = iter(("--", ":", "-.") * len(rows))
        for name in dict.fromkeys(row[self.line] for row in rows):
            chosen = [row for row in rows if row[self.line] == name]
            if chosen[0][self.x] == "":
                axis.axhline(chosen[0][self.y], color="black", linestyle=next(dashes), label=name)
                continue
            places = [row[self.x] if numbers else xs.index(row[self.x]) for row in chosen]
            drawn = axis.plot(
                places,
                [row[self.y] for row in chosen],
                label=name,
                marker="o",
                markersize=3,
                color=COLORS.get(name),
            )
            ends = ([row.get(f"{self.y}_{end}", row[self.y]) for row in chosen] for end in ("low", "high"))
            axis.fill_between(places, *ends, alpha=0.15, color=drawn[0].get_color())
        if not numbers:
            axis.set_xticks(range(len(xs)), xs)
        elif "x" in self.log:
            axis.set_xscale("log", base=2)
        if "y" in self.log:
            axis.set_yscale("log")
        axis.set_xlabel(_words(self.x))
        axis.set_ylabel(_words(self.y))
        axis.legend(fontsize=6)


class Bars(NamedTuple):
    """A bar for each row, with its interval."""

    rows: Sequence[Row]
    value: str
    label: Sequence[str]
    """Columns."""
    panel: Sequence[str] = ()
    log: str = ""

    def draw(self, axis: Any, rows: Sequence[Row]) -> None:
        """Fills a panel."""
        labels = [textwrap.fill(" ".join(str(row[column]) for column in self.label), 34) for row in rows]
        values = [row[self.value] or 0 for row in rows]
        ends = [
            (row.get(f"{self.value}_low", x), row.get(f"{self.value}_high", x))
            for row, x in zip(rows, values)
        ]
        errors = [(x - low, high - x) for x, (low, high) in zip(values, ends)]
        bars = axis.barh(labels, values, xerr=list(zip(*errors)), color=COLORS["direct"])
        axis.bar_label(bars, fmt="%.3g", fontsize=6, padding=2)
        axis.tick_params(axis="y", labelsize=6)
        if self.log:
            axis.set_xscale("log")
        axis.margins(x=0.2)
        axis.invert_yaxis()
        axis.set_xlabel(_words(self.value))


class Stacks(NamedTuple):
    """The access types of each row."""

    rows: Sequence[Row]
    label: str
    panel: Sequence[str] = ()

    def draw(self, axis: Any, rows: Sequence[Row]) -> None:
        """Fills a panel."""
        access_types(axis, [str(row[self.label]) for row in rows], rows)
        axis.set_xlabel(_words(self.label))
        axis.legend(fontsize=6)


Picture = Union[Lines, Bars, Stacks]


def draw(pictures: Sequence[Picture], path: Path, title: str) -> None:
    """Writes the panels of all pictures to `path`."""
    wanted = [(picture, *panel) for picture in pictures for panel in _panels(picture)]
    bars = max((len(rows) for picture, _, rows in wanted if isinstance(picture, Bars)), default=0)
    figure, axes = panels(len(wanted), height=max(3.8, 1 + 0.17 * bars))
    for axis, (picture, key, rows) in zip(axes, wanted):
        picture.draw(axis, rows)
        axis.set_title(textwrap.fill(key, 44), fontsize=8)
    save(figure, path, title)


def _panels(picture: Picture) -> Iterator[tuple[str, Sequence[Row]]]:
    """The title of each panel, and its rows."""
    keys = dict.fromkeys(tuple(row[column] for column in picture.panel) for row in picture.rows)
    for key in keys:
        if "" not in key:
            rows = [
                row
                for row in picture.rows
                if all(row[column] in (value, "") for column, value in zip(picture.panel, key))
            ]
            yield (
                " ".join(
                    f"{_words(c)} {v}" if isinstance(v, int) else str(v) for c, v in zip(picture.panel, key)
                ),
                rows,
            )


def _words(column: str) -> str:
    return column.replace("_", " ")


def save(figure: Any, path: Path, title: str) -> None:
    """Writes the figure to `path`."""
    figure.suptitle(textwrap.fill(title, int(10 * figure.get_figwidth())))
    figure.savefig(path)
    plt.close(figure)


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
