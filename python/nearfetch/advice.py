# SPDX-License-Identifier: Apache-2.0
"""What a recorded run would have gained from which settings: as text; and a trial of the advice.

The replays are the program nearfetch-advise.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from nearfetch import NearfetchError, recording
from nearfetch.layout import Layout
from nearfetch.report import bytes_text, share_text
from nearfetch.terminal import show_step

Document = dict[str, Any]


def advise(layout: Layout, folder: Path) -> Document:
    """What nearfetch-advise says of the recordings in `folder`. Raises NearfetchError if it cannot."""
    with recording.unpacked(folder) as files:
        try:
            process = subprocess.Popen(
                [str(layout.advise_program), *map(str, files)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise NearfetchError(
                f"cannot start '{layout.advise_program}' ({error.strerror}; nearfetch is not built): "
                "run ./nf setup, or install nearfetch"
            ) from error
        with process:
            said = _follow(process)
            answer = process.stdout.read() if process.stdout else ""
    if process.returncode != 0:
        raise NearfetchError(said.removeprefix("nearfetch: ").strip() or "nearfetch-advise failed: report it")
    return json.loads(answer)


def _follow(process: subprocess.Popen[str]) -> str:
    """Shows a terminal which replay it is. Returns the last line that is none of these."""
    said = ""
    for line in process.stderr or ():
        if line.startswith("replay "):
            show_step(line.strip())
        else:
            said = line
    show_step("")
    return said


def settings_of(advice: Document) -> dict[str, str]:
    """The settings that are advised."""
    return advice["choices"][advice["best"]]["settings"]


def text_of(advice: Document) -> str:
    """The advice for a terminal, of at most 100 columns."""
    recorded = advice["recorded"]
    ranks, gets = recorded["ranks"], recorded["remote_gets"]
    head = f"{ranks} rank{'s' if ranks != 1 else ''}, {recorded['elapsed_s']:.3g} s, "
    head += f"{gets:,} gets of others' memory"
    if gets:
        head += f" of {bytes_text(recorded['get_bytes'] / gets)} on average"
    lines = ["", f"nearfetch advise: {head}"]
    if recorded["ranks_to_the_end"] < ranks:
        lines.append(
            f"  {ranks - recorded['ranks_to_the_end']} of them ended early: what follows is of before"
        )
    if recorded["share"] < 1:
        lines.append(
            f"  a long run: one of {1 / recorded['share']:.0f} blocks of 64 KiB was recorded; numbers of "
            "gets are of these"
        )
    choices = advice["choices"]
    lines += ["", f"  {'settings':<34}{'hits':>8}{'saved a rank':>20}"]
    for i, choice in enumerate(choices):
        mark = ">" if i == advice["best"] and choices[0]["remote_gets"] else " "
        lines.append(f"{mark} {words_of(choice['settings']) or 'the default':<34}{_gain(choice)}")
        if choice["why"]:
            lines.append(f"      {choice['why']}")
    return "\n".join([*lines, *_memory_lines(advice), *_conclusion(advice)]) + "\n"


def words_of(settings: Mapping[str, str]) -> str:
    """Settings as options of `nearfetch run`."""
    return " ".join(
        f"--mode {value}" if name == "mode" else f"--set {name}={value}" for name, value in settings.items()
    )


def _gain(prospect: Document) -> str:
    hits = share_text(prospect["hit_ratio"], 1)
    return f"{hits:>8}{prospect['saved_s']:>12.3g} ± {prospect['saved_margin_s']:.2g} s"


def _memory_lines(advice: Document) -> list[str]:
    if not advice["curve"]:
        return []
    lines = ["", f"  {'memory of a rank':<34}{'hits':>8}{'saved a rank':>20}"]
    for point in advice["curve"]:
        mark = ">" if point["memory_bytes"] == advice["memory_bytes"] else " "
        lines.append(f"{mark} {bytes_text(point['memory_bytes']):<34}{_gain(point)}")
    lines += [
        "",
        f"  {'policy with ' + bytes_text(advice['memory_bytes']):<34}{'hits':>8}{'saved a rank':>20}",
    ]
    lines += [f"  {policy['settings']['policy']:<34}{_gain(policy)}" for policy in advice["policies"]]
    return lines


def _conclusion(advice: Document) -> list[str]:
    recorded, best = advice["recorded"], advice["choices"][advice["best"]]
    if not recorded["remote_gets"]:
        return ["", "  Nothing to gain: no rank got bytes of another rank's window."]
    if best["saved_s"] <= 0 or best["hit_ratio"] < 0.01:
        return ["", "  Nothing to gain: hardly any byte was read twice before it had to be forgotten."]
    share = best["saved_s"] / recorded["elapsed_s"]
    spread = f"from {best['saved_least_s']:.3g} to {best['saved_most_s']:.3g} s by rank"
    lines = [
        "",
        f"  It saves about {best['saved_s']:.3g} s of {recorded['elapsed_s']:.3g} s a rank "
        f"({100 * share:.0f} %; {spread}).",
        f"  {bytes_text(advice['memory_bytes'])} of memory a rank bring 95 % of that.",
    ]
    settings = settings_of(advice)
    if settings and not best["why"]:
        lines.append("  That needs no promise.")
    elif settings:
        lines.append("  It rests on a promise that was kept in this run; whether it always is, you know.")
    lines += ["", f"    nearfetch run {words_of(settings)} -- COMMAND".replace("  --", " --", 1)]
    return lines


class Trial(NamedTuple):
    """Runs of a command, plain and with the advice, in turn."""

    plain_s: list[float]
    advised_s: list[float]
    hit_ratio: float
    """Of one more run with the advice, which was counted."""
    differing: list[str]
    """Of the outputs that were to be compared: those that were not the same in all runs."""


def try_out(run: Callable[[bool, bool], tuple[int, float]], outputs: Sequence[Path], pairs: int) -> Trial:
    """Runs both in turn.

    `run` is told whether with the advice, and whether to count; it returns exit status and hit ratio.
    Raises NearfetchError if a run fails.
    """
    times: dict[bool, list[float]] = {False: [], True: []}
    seen: dict[Path, set[str]] = {path: set() for path in outputs}
    ratio = 0.0
    order = [(advised, False) for _ in range(pairs) for advised in (False, True)] + [(True, True)]
    for number, (advised, counts) in enumerate(order, 1):
        print(
            f"nearfetch: run {number} of {len(order)} ({'as advised' if advised else 'plain'})",
            file=sys.stderr,
        )
        begin = time.perf_counter()
        status, ratio = run(advised, counts)
        if status != 0:
            raise NearfetchError(
                f"the command failed with status {status} ({'as advised' if advised else 'plain'}): "
                "see what it says"
            )
        if not counts:
            times[advised].append(time.perf_counter() - begin)
        for path in outputs:
            try:
                seen[path].add(hashlib.sha256(path.read_bytes()).hexdigest())
            except OSError as error:
                raise NearfetchError(
                    f"cannot read '{path}' ({error.strerror}): name an output of the command by --output"
                ) from error
    return Trial(times[False], times[True], ratio, [str(path) for path in outputs if len(seen[path]) > 1])


def text_of_trial(trial: Trial, advice: Document, outputs: int) -> str:
    """What came of it."""
    ratios = sorted(plain / advised for plain, advised in zip(trial.plain_s, trial.advised_s))
    plain, advised = statistics.median(trial.plain_s), statistics.median(trial.advised_s)
    best = advice["choices"][advice["best"]]
    lines = [
        "",
        f"nearfetch advise: {len(ratios)} pairs of runs",
        f"  plain {plain:.3g} s, as advised {advised:.3g} s: {statistics.median(ratios):.3g} times as fast "
        f"(from {ratios[0]:.3g} to {ratios[-1]:.3g})",
        f"  hits: {share_text(trial.hit_ratio, 1)}; foreseen were {share_text(best['hit_ratio'], 1)}",
    ]
    if trial.differing:
        lines.append(f"  NOT the same in all runs: {', '.join(trial.differing)}")
    elif outputs:
        lines.append(f"  {outputs} output{'s' if outputs > 1 else ''}: the same in all runs")
    return "\n".join(lines) + "\n"
