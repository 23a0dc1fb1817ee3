# SPDX-License-Identifier: Apache-2.0
"""The command `nearfetch`."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Iterator, Optional, Sequence

from nearfetch import NearfetchError, __version__, advice, recording, report
from nearfetch.families import FAMILIES
from nearfetch.layout import Layout
from nearfetch.run import Request, exports, prepare, variable
from nearfetch.stats_folder import make_ready, mark, run_and_look, run_in_place

_RUN_EXAMPLES = """\
examples:
  nearfetch run -- mpiexec -n 4 ./app
  nearfetch run --mode always-cache --set memory_bytes=1GiB --stats out -- mpiexec -n 4 python app.py

Settings are also read from the environment (NEARFETCH_BUFFER_BYTES=64MiB); `nearfetch settings` lists them.
"""
_USAGE_OF_SETTINGS = "[--mode M] [--set KEY=VALUE]... [--stats DIR] [--summary] [--mpi FAMILY]"
_ENV_EXAMPLES = """\
in a batch script:
  eval "$(nearfetch env --mpi openmpi --stats out)"
  srun ./app

Everything that the shell starts from then on has them; unset LD_PRELOAD ends it.
"""
_GROUPS = {
    "everyday": "EVERYDAY",
    "tuning": "TUNING",
    "papers": "AS IN THE PAPERS, to compare with their algorithms\n"
    "000: Ferguson and Buettner, Caching Puts and Gets in a PGAS Language Runtime, 2015\n"
    "001: Di Girolamo, Vella and Hoefler, Transparent Caching for RMA Systems, 2017",
}
# Variables of the Python package, and of the project's tests and benchmarks.
_OTHER_VARIABLES = {"NEARFETCH_BUILD", "NEARFETCH_PROGRAMS"}


def main(arguments: Optional[Sequence[str]] = None, layout: Optional[Layout] = None) -> int:
    """Runs the command line and returns the exit status (`run` normally does not return: it becomes the
    command)."""
    options = _parsed(arguments)
    layout = layout or Layout.of_this()
    try:
        if options.action == "settings":
            return _settings(layout, options.json)
        if options.action == "report":
            return _report(layout, options)
        if options.action == "env":
            return _env(layout, options)
        if options.action == "record":
            return _record(layout, options)
        if options.action == "advise":
            return _advise(layout, options)
        return _run(layout, options)
    except NearfetchError as error:
        print(f"nearfetch: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        # The reader has closed the pipe. Without this Python would report an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The parsed options. An unknown one ends the process with the usage of the action."""
    parser, actions = _parsers()
    words = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] = []
    if words[:1] == ["advise"] and "--" in words:
        # Options may follow the folder, so that argparse cannot tell where the command begins.
        at = words.index("--")
        words, command = words[:at], words[at:]
    options, unknown = parser.parse_known_args(words)
    if unknown:
        action = actions[options.action]
        known = re.findall(r"--[a-z]+", action.format_usage())
        action.error(
            f"unknown option {unknown[0]} (nearfetch {options.action} has none of that name)"
            f": {_nearest(unknown[0], known)}"
        )
    if command:
        options.command = command
    return options


def _nearest(word: str, known: Sequence[str]) -> str:
    """Advice for `word`, which is not a known one."""
    near = difflib.get_close_matches(word, known, 1)
    return f"do you mean {near[0]}?" if near else f"use one of {', '.join(known)}"


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the command line, and those of its actions."""
    parser = argparse.ArgumentParser(
        prog="nearfetch", description="Caching for programs with one-sided communication.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"nearfetch {__version__}")
    actions = parser.add_subparsers(
        dest="action", metavar="run | env | settings | report | record | advise", required=True
    )
    run = _add_action(
        actions, "run", "[--pretend-remote] -- COMMAND...", "run a command, with nearfetch in all its ranks"
    )
    run.epilog = _RUN_EXAMPLES
    run.add_argument(
        "--pretend-remote",
        action="store_true",
        help="the ranks of this machine talk over TCP, as if each were on a machine of its own",
    )
    run.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="for example mpiexec -n 4 ./app"
    )
    purpose = "print the variables to export, where the launch line cannot be changed"
    env = _add_action(actions, "env", "[-- PROGRAM...]", purpose)
    env.epilog = _ENV_EXAMPLES
    env.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program, if it tells its MPI"
    )
    settings = actions.add_parser("settings", help="list the settings", allow_abbrev=False)
    settings.add_argument("--json", action="store_true", help="as a JSON array")
    report_ = actions.add_parser("report", help="say what a folder of --stats tells", allow_abbrev=False)
    report_.add_argument("folder", type=Path, metavar="DIR", help="the folder of nearfetch run --stats DIR")
    report_.add_argument("--html", type=Path, metavar="FILE", help="write one page of HTML to FILE instead")
    record = actions.add_parser(
        "record",
        help="run a command without a cache, and write down what it does to its windows",
        usage="nearfetch record -o DIR [--limit BYTES] [--pretend-remote] [--mpi FAMILY] -- COMMAND...",
        allow_abbrev=False,
    )
    record.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="where to write it")
    record.add_argument(
        "--limit",
        type=int,
        metavar="BYTES",
        default=64 << 20,
        help="of a rank, uncompressed; beyond it a share of all memory is sampled (default: %(default)s)",
    )
    advise = actions.add_parser(
        "advise",
        help="say what a recorded run would gain from which settings",
        usage="nearfetch advise DIR [--json] [--verify [--pairs N] [--output FILE]... -- COMMAND...]",
        allow_abbrev=False,
    )
    advise.add_argument("folder", type=Path, metavar="DIR", help="the folder of nearfetch record -o DIR")
    advise.add_argument("--json", action="store_true", help="all numbers, as a JSON object")
    advise.add_argument("--verify", action="store_true", help="run COMMAND plain and as advised, in turn")
    advise.add_argument("--pairs", type=int, metavar="N", default=5, help="how often (default: %(default)s)")
    advise.add_argument(
        "--output", type=Path, metavar="FILE", action="append", default=[], help="an output to compare"
    )
    advise.set_defaults(command=[])
    for action in (record, advise):
        action.add_argument("--pretend-remote", action="store_true", help="as of nearfetch run")
        action.add_argument("--mpi", choices=list(FAMILIES), help="as of nearfetch run")
    record.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="with its launcher")
    by_name = {"run": run, "env": env, "settings": settings, "report": report_}
    return parser, {**by_name, "record": record, "advise": advise}


def _add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, rest: str, purpose: str
) -> argparse.ArgumentParser:
    """An action that has the settings; `rest` is the end of its usage."""
    action = actions.add_parser(
        name,
        help=purpose,
        usage=f"nearfetch {name} {_USAGE_OF_SETTINGS} {rest}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    action.add_argument("--mode", metavar="M", help="when cached data is forgotten; the same as --set mode=M")
    action.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="a setting, may be repeated"
    )
    action.add_argument(
        "--stats",
        metavar="DIR",
        help="each rank writes its counters to DIR/rank-<N>.json (spawned ones: world-<W>-rank-<N>.json)",
    )
    action.add_argument("--summary", action="store_true", help="print one page about all ranks at the end")
    action.add_argument(
        "--mpi", choices=list(FAMILIES), help="the command's MPI family, where it is not recognised"
    )
    return action


def _run(layout: Layout, options: argparse.Namespace) -> int:
    command = _needed_command(options)
    settings = _settings_of_job(layout, options)
    with contextlib.ExitStack() as stack:
        seen = None
        # A run inside another run makes the mark of that one.
        if not _inherited("seen_file") and settings.get("summary", _inherited("summary") or "off") not in (
            "off",
            "false",
            "no",
            "0",
        ):
            seen = stack.enter_context(mark())
            settings["seen_file"] = str(seen)
        return _run_with(layout, options, command, settings, seen)


def _run_with(
    layout: Layout,
    options: argparse.Namespace,
    command: list[str],
    settings: dict[str, str],
    seen: Optional[Path],
) -> int:
    """Runs the command with these settings. Where something is to be looked at afterwards it returns."""
    folder = settings.get("stats_dir")
    request = Request(command, settings, os.environ, options.mpi, options.pretend_remote)
    prepared = prepare(layout, request)
    if folder:
        # A run inside another run that writes to the same folder is part of its job.
        inside = bool(_inherited("job")) and folder == _inherited("stats_dir")
        make_ready(Path(folder), inside)
    for doubt in prepared.doubts:
        print(f"nearfetch: {doubt}", file=sys.stderr)
    sys.stdout.flush()
    with _starting(command):
        if folder or seen:
            return run_and_look(prepared, Path(folder) if folder else None, seen)
        os.execvpe(prepared.command[0], prepared.command, prepared.environ)


@contextlib.contextmanager
def _starting(command: list[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NearfetchError(
            f"cannot start '{command[0]}' ({error.strerror}): check that it is a program", status=126
        ) from error


def _env(layout: Layout, options: argparse.Namespace) -> int:
    settings = _settings_of_job(layout, options)
    variables = exports(layout, Request(_command(options), settings, os.environ, options.mpi))
    if "stats_dir" in settings:
        make_ready(Path(settings["stats_dir"]))
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _report(layout: Layout, options: argparse.Namespace) -> int:
    run = report.read(layout, options.folder)
    if options.html is None:
        print(report.text_of(run), end="")
        return 0
    try:
        options.html.write_text(report.html_of(run), encoding="utf-8")
    except OSError as error:
        raise NearfetchError(
            f"cannot write '{options.html}' ({error.strerror}): name another file"
        ) from error
    return 0


def _record(layout: Layout, options: argparse.Namespace) -> int:
    command = _needed_command(options)
    if options.limit < 1 << 16:
        raise NearfetchError(f"--limit {options.limit} (too few bytes to sample): give at least 65536")
    folder = options.output.absolute()
    settings = {"record_dir": str(folder), "record_bytes": str(options.limit)}
    request = Request(command, settings, os.environ, options.mpi, options.pretend_remote, "record")
    prepared = prepare(layout, request)
    make_ready(folder, option="-o", earlier=recording.files_of)
    with _starting(command):
        status = run_in_place(prepared)
    size = recording.compress(folder)
    print(
        f"nearfetch: recorded {len(recording.files_of(folder))} ranks, {report.bytes_text(size)}: "
        f"nearfetch advise {options.output}",
        file=sys.stderr,
    )
    return status


def _advise(layout: Layout, options: argparse.Namespace) -> int:
    command = _needed_command(options) if options.verify else []
    if options.pairs < 1:
        raise NearfetchError(f"--pairs {options.pairs} (nothing to compare): give at least 1")
    advised = advice.advise(layout, options.folder)
    print(json.dumps(advised, indent=2) if options.json else advice.text_of(advised))
    if not command:
        return 0
    trial = _trial(layout, options, command, advice.settings_of(advised))
    print(advice.text_of_trial(trial, advised, len(options.output)), end="")
    return 1 if trial.differing else 0


def _trial(
    layout: Layout, options: argparse.Namespace, command: list[str], settings: dict[str, str]
) -> advice.Trial:
    """Runs the command plain, and with these settings, in turn."""

    def run(advised: bool, counts: bool) -> tuple[int, float]:
        with tempfile.TemporaryDirectory(prefix="nearfetch-") as stats:
            given = {**settings, "stats_dir": stats} if counts else settings
            request = Request(
                command, given, os.environ, options.mpi, options.pretend_remote, "mpi" if advised else ""
            )
            prepared = prepare(layout, request)
            with _starting(command):
                status = run_in_place(prepared)
            ratio = report.read(layout, Path(stats)).hit_ratio if counts and status == 0 else 0.0
        return status, ratio

    return advice.try_out(run, options.output, options.pairs)


def _needed_command(options: argparse.Namespace) -> list[str]:
    command = _command(options)
    if not command:
        raise NearfetchError(
            "no command (nothing to run): write it after --, as in nearfetch "
            f"{options.action} -- mpiexec -n 4 ./app"
        )
    return command


def _command(options: argparse.Namespace) -> list[str]:
    return options.command[1:] if options.command[:1] == ["--"] else options.command


def _settings_of_job(layout: Layout, options: argparse.Namespace) -> dict[str, str]:
    """The settings of the command line, and the job's name where ranks write statistics."""
    _warn_of_unknown_variables(layout)
    settings = _checked_settings(layout, options)
    if settings.get("stats_dir"):
        settings.setdefault("job", _inherited("job") or secrets.token_hex(6))
    return settings


def _checked_settings(layout: Layout, options: argparse.Namespace) -> dict[str, str]:
    """The settings of the command line, by name.

    Raises NearfetchError if one of them, or of the environment, is not valid.
    """
    words = list(options.set)
    if options.mode is not None:
        set_modes = [word for word in words if word.startswith("mode=") and word != f"mode={options.mode}"]
        if set_modes:
            raise NearfetchError(
                f"--mode {options.mode} and --set {set_modes[0]} (a run has one mode): leave one of them out"
            )
        words.append(f"mode={options.mode}")
    if options.stats is not None:
        if not options.stats:
            raise NearfetchError(
                "--stats has an empty folder name (there is nowhere to write): name a folder"
            )
        words.append(f"stats_dir={os.path.abspath(options.stats)}")
    if options.summary:
        words.append("summary=on")
    inherited = [
        f"{row['name']}={_inherited(row['name'])}" for row in _table(layout) if _inherited(row["name"])
    ]
    checked = _ask_settings_program(layout, [*inherited, *words])
    if checked.returncode != 0:
        sys.stderr.write(checked.stderr)
        raise SystemExit(2)
    settings = dict(word.split("=", 1) for word in words)
    folder = settings.get("stats_dir", _inherited("stats_dir"))
    if folder:
        # Ranks may start in other folders.
        settings["stats_dir"] = os.path.abspath(folder)
    return settings


def _warn_of_unknown_variables(layout: Layout) -> None:
    known = [variable(row["name"]) for row in _table(layout)]
    for row in _table(layout):
        old = variable(row["old_name"]) if row.get("old_name") else ""
        if os.environ.get(old):
            raise NearfetchError(f"the variable {old} (its name is {variable(row['name'])}): use that name")
    for name in sorted(os.environ):
        if name.startswith("NEARFETCH_") and name not in known and name not in _OTHER_VARIABLES:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"do you mean {near[0]}?" if near else "`nearfetch settings` lists those that there are"
            print(
                f"nearfetch: the variable {name} is ignored (no setting has this name): {advice}",
                file=sys.stderr,
            )


def _inherited(setting: str) -> str:
    # An empty variable counts as unset, in the ranks too.
    return os.environ.get(variable(setting), "")


def _settings(layout: Layout, as_json: bool) -> int:
    table = _table(layout)
    if as_json:
        print(json.dumps(table, indent=2))
        return 0
    for group, title in _GROUPS.items():
        _print_group(title, [row for row in table if row.get("group", "tuning") == group])
    print(
        "Give a setting as --set buffer_bytes=4MiB, in the environment as NEARFETCH_BUFFER_BYTES=4MiB,\n"
        "or for one window as the info key nearfetch_buffer_bytes. An info key wins over the environment.\n"
        "Those that begin with page_cache_ are for programs that use <nearfetch/pgas.hpp> and for runtimes,\n"
        "not for windows; what the program itself sets wins over the environment."
    )
    return 0


def _print_group(title: str, rows: Sequence[dict[str, str]]) -> None:
    if not rows:
        return
    print(f"{title}\n")
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        default = row["default"] if row["default"] != "" else "(empty)"
        unit = f" {row['unit']}" if row["unit"] and not default.lower().endswith(("b", row["unit"])) else ""
        print(f"  {row['name']:<{width}}  {default}{unit}")
        text = f"{row['meaning']} [{row['allowed']}]" if row["allowed"] else row["meaning"]
        print(textwrap.fill(text, width=100, initial_indent=" " * 6, subsequent_indent=" " * 6))
    print()


def _table(layout: Layout) -> list[dict[str, str]]:
    answer = _ask_settings_program(layout, [])
    try:
        return json.loads(answer.stdout)
    except ValueError as error:
        raise NearfetchError(
            f"'{layout.settings_program}' does not answer (exit code {answer.returncode}): "
            "install nearfetch again"
        ) from error


def _ask_settings_program(layout: Layout, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        return subprocess.run(
            [str(layout.settings_program), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=environ,
        )
    except OSError as error:
        raise NearfetchError(
            f"cannot start '{layout.settings_program}' ({error.strerror}; nearfetch is not built): "
            "run ./nf setup, or install nearfetch"
        ) from error
