# SPDX-License-Identifier: Apache-2.0
"""What the folder of `--stats` says about a run: as text, and as one page of HTML.

The verdict, and what all ranks have counted together, come from the program nearfetch-report, which
knows what `--summary` says. Here are the parts that need each rank's own numbers: times, heat maps, settings.
"""

from __future__ import annotations

import collections
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Sequence

from nearfetch import NearfetchError
from nearfetch.layout import Layout
from nearfetch.stats_folder import NOT_LOADED, files_of_ranks

Document = dict[str, Any]

CAUSES = {
    "first_reads": "read for the first time",
    "forgotten": "forgotten by an acquire",
    "evicted_before": "evicted before",
    "not_kept": "had no room",
    "bypassed_before": "bypassed, although fetched before",
    "overwritten": "changed by this process's own accumulates",
}
"""Counters that say why gets went to the network, and what a reader calls them."""

_MOST_COLUMNS = 64
_MOST_ROWS = 12
_SERIES = ("gets", "hits", "bytes_from_cache", "bytes_from_network")


class Run(NamedTuple):
    """A run that was read from its folder."""

    ranks: list[Document]
    """What each rank has written, by world and rank."""
    summary: Document
    """What nearfetch-report makes of them."""

    @property
    def early_ends(self) -> dict[str, int]:
        """The ranks that did not come to MPI_Finalize, by what ended them."""
        ends = collections.Counter(str(rank.get("end", "")) for rank in self.ranks)
        return {end: ends[end] for end in sorted(ends) if end != "MPI_Finalize"}

    @property
    def hit_ratio(self) -> float:
        """Of the gets of others' memory: how many were served at least in part."""
        counters = [group["counters"] for group in self.summary["groups"]]
        remote = sum(c["gets"] - c["own_memory"] for c in counters)
        served = sum(c["hits"] + c["partial_hits"] + c["pending_hits"] for c in counters)
        return served / remote if remote else 0.0


def read(layout: Layout, folder: Path) -> Run:
    """Reads the folder. Raises NearfetchError if it is none, or no rank has written there."""
    if not folder.is_dir():
        raise NearfetchError(
            f"no folder '{folder}' (there is nothing to report): name one of nearfetch run --stats"
        )
    files = files_of_ranks(folder)
    if not files:
        raise NearfetchError(f"no rank-<N>.json in '{folder}': {NOT_LOADED}")
    summary = json.loads(_ask(layout, [str(file) for file in files]))
    ranks = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    ranks.sort(key=lambda rank: (rank["spawned"], rank["world"], rank["rank"]))
    return Run(ranks, summary)


def counters_table(layout: Layout) -> list[dict[str, str]]:
    """Each counter with its meaning."""
    return json.loads(_ask(layout, []))


def _ask(layout: Layout, arguments: Sequence[str]) -> str:
    program = layout.report_program
    try:
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NearfetchError(
            f"cannot start '{program}' ({error.strerror}; nearfetch is not built): "
            "run ./nf setup, or install nearfetch"
        ) from error
    if done.returncode != 0:
        raise NearfetchError(done.stderr.removeprefix("nearfetch: ").strip())
    return done.stdout


def text_of(run: Run) -> str:
    """The report for a terminal: the page of --summary, and what that does not have."""
    lines = [run.summary["page"].rstrip("\n"), *_notes(run)]
    first = run.ranks[0]
    lines.append(f"  command: {' '.join(first.get('command', []))}")
    lines.append(f"  {first.get('mpi_library', '')}; nearfetch {first.get('nearfetch', '')}")
    given = first.get("settings", {})
    if given:
        lines.append("  settings: " + ", ".join(f"{name}={value}" for name, value in given.items()))
    return "\n".join(lines) + "\n"


def _notes(run: Run) -> list[str]:
    return [
        f"  {count} rank{'s' if count > 1 else ''} ended early ({end}): "
        "the numbers may be a little older than the end"
        for end, count in run.early_ends.items()
    ]


def html_of(run: Run) -> str:
    """One page, which needs no network. Raises NearfetchError without Jinja2."""
    try:
        import jinja2
    except ImportError as error:
        raise NearfetchError(
            "no page (Jinja2, which makes it, is not installed): "
            "pip install jinja2, or read the text without --html"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(count="{:,}".format, bytes=bytes_text, code=_code)
    template = environment.get_template("report.html")
    groups = [_with_place(group, run.ranks[0].get("command", [])) for group in run.summary["groups"]]
    return template.render(
        run=run,
        first=run.ranks[0],
        hosts=sorted({rank.get("host", "") for rank in run.ranks}),
        notes=_notes(run),
        groups=groups,
        causes=CAUSES,
        forgotten=_forgotten(groups),
        charts=list(charts(run)),
        maps=list(heat_maps(run)),
    )


def _code(text: str) -> Any:
    """The text as HTML, with what stands in backticks as code."""
    import markupsafe

    parts = [markupsafe.escape(part) for part in text.split("`")]
    marked = [f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts)]
    return markupsafe.Markup("").join(markupsafe.Markup(part) for part in marked)


def _forgotten(groups: Sequence[Document]) -> list[tuple[str, str, int]]:
    """What was forgotten: by which call, in which window, how many gets asked for it."""
    rows = [(call, label(group), gets) for group in groups for call, gets in group["forgotten_by"].items()]
    return sorted(rows, key=lambda row: -row[2])


def label(window: Document) -> str:
    """A window's name and where it was made."""
    return " ".join(part for part in (window["name"] or "without a name", window.get("site", "")) if part)


def _with_place(group: Document, command: Sequence[str]) -> Document:
    return {**group, "site": source_place(group.get("site", ""), command)}


def source_place(site: str, command: Sequence[str]) -> str:
    """`program.c:12` for `program(+0x1234)`, if addr2line finds it in the program; else the site itself."""
    match = re.fullmatch(r"(.+)\(\+(0x[0-9a-f]+)\)", site)
    tool = shutil.which("addr2line")
    program = Path(command[0]) if command else Path()
    if not match or not tool or program.name != match[1] or not program.is_file():
        return site
    # The address is that behind the call.
    address = hex(int(match[2], 16) - 1)
    done = subprocess.run([tool, "-e", str(program), address], capture_output=True, text=True, check=False)
    place = done.stdout.strip().split(" ")[0]
    return (
        f"{place.rsplit('/', 1)[-1]} ({site})"
        if done.returncode == 0 and not place.startswith("??")
        else site
    )


def timeline(run: Run) -> tuple[float, dict[str, list[float]]]:
    """The length of an interval in seconds, and of all ranks and windows what happened in each interval."""
    lines = [window["timeline"] for rank in run.ranks for window in rank["windows"] if "timeline" in window]
    length = max((line["interval_s"] for line in lines), default=1.0)
    sums: dict[str, list[float]] = {name: [] for name in _SERIES}
    for line in lines:
        joined = round(length / line["interval_s"])
        for name, series in sums.items():
            values = line[name]
            for i in range(0, len(values), joined):
                if i // joined == len(series):
                    series.append(0)
                series[i // joined] += sum(values[i : i + joined])
    return length, sums


class Chart(NamedTuple):
    """Bars over time: of each interval a part of a whole."""

    title: str
    part: str
    """What the lower part of a bar is."""
    rest: str
    bars: list[tuple[float, float, str]]
    """Heights of the part and of the whole, from 0 to 1, and what the reader is told."""
    most: str
    """What the highest bar stands for."""
    end: str


def charts(run: Run) -> Iterator[Chart]:
    """Hits and bytes over time; nothing where no get was made."""
    length, sums = timeline(run)
    end = f"{length * len(sums['gets']):.3g} s"
    gets = list(zip(sums["hits"], sums["gets"]))
    moved = [
        (cache, cache + network)
        for cache, network in zip(sums["bytes_from_cache"], sums["bytes_from_network"])
    ]
    kinds = (
        ("Gets", "hits", "other gets", gets, "{:,.0f}".format),
        ("Bytes", "from the cache", "from the network", moved, bytes_text),
    )
    for title, part, rest, values, readable in kinds:
        most = max((whole for _, whole in values), default=0)
        if most == 0:
            continue
        bars = [
            (
                some / most,
                whole / most,
                f"{i * length:.3g} to {(i + 1) * length:.3g} s: {readable(some)} of {readable(whole)} {part}",
            )
            for i, (some, whole) in enumerate(values)
        ]
        yield Chart(title, part, rest, bars, readable(most), end)


class HeatMap(NamedTuple):
    """Windows by ranks."""

    title: str
    low: str
    """What the palest cell means."""
    high: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[float, str]]]]
    """A window, and of each column a value from 0 to 1 (below 0: none), and what the reader is told."""


def heat_maps(run: Run) -> Iterator[HeatMap]:
    """How many gets hit, and what came from the network, by window and rank."""
    spans = _spans(len(run.ranks))
    cells: dict[str, list[collections.Counter[str]]] = {}
    for column, span in enumerate(spans):
        for rank in run.ranks[span.start : span.stop]:
            for window in rank["windows"]:
                row = cells.setdefault(label(window), [collections.Counter() for _ in spans])
                row[column].update({name: value for name, value in window.items() if isinstance(value, int)})
    order = sorted(cells, key=lambda name: -sum(cell["gets"] for cell in cells[name]))[:_MOST_ROWS]
    columns = [_ranks_text(run.ranks, span) for span in spans]
    if not any(cell["gets"] for row in cells.values() for cell in row):
        return
    yield HeatMap(
        "Remote gets that hit",
        "0 %",
        "100 %",
        columns,
        [(name, [_hit_cell(c) for c in cells[name]]) for name in order],
    )
    most = max(cell["bytes_from_network"] for row in cells.values() for cell in row) or 1
    yield HeatMap(
        "Bytes from the network",
        "0",
        bytes_text(most),
        columns,
        [
            (
                name,
                [(c["bytes_from_network"] / most, bytes_text(c["bytes_from_network"])) for c in cells[name]],
            )
            for name in order
        ],
    )


def _spans(ranks: int) -> list[range]:
    columns = min(ranks, _MOST_COLUMNS)
    return [range(i * ranks // columns, (i + 1) * ranks // columns) for i in range(columns)]


def _ranks_text(ranks: Sequence[Document], span: range) -> str:
    first, last = ranks[span.start]["rank"], ranks[span.stop - 1]["rank"]
    return f"rank {first}" if len(span) == 1 else f"ranks {first} to {last}"


def _hit_cell(cell: collections.Counter[str]) -> tuple[float, str]:
    remote = cell["gets"] - cell["own_memory"]
    served = cell["hits"] + cell["partial_hits"] + cell["pending_hits"]
    if remote <= 0:
        return -1.0, "no gets of others' memory"
    return served / remote, f"{share_text(served, remote)} of {remote:,}"


def share_text(part: float, whole: float) -> str:
    """`84 %`."""
    return f"{100 * part / whole:.3g} %" if whole else "0 %"


def bytes_text(size: float) -> str:
    """`1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
