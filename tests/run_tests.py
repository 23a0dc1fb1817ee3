#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./nf test`: the checks of the source and all tests of one preset.

The last line is `N passed, N failed, N skipped`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent))

import lint  # noqa: E402

ROOT = lint.ROOT
PRESETS = ("release", "dev", "asan", "tsan")
# Under the thread sanitizer everything else would only be slow: one thread cannot race.
_TSAN_TESTS = (
    "threads|transport_contract|transport_model|array_(element|node_slices|observe|parts|prefetch|random|replica)"
    "|array_sparse|cache_prefetch_buffer|cache_version_store"
)
_TSAN_TARGETS = (
    "nearfetch-settings",
    "interposers",
    "programs-threads",
    "programs-litmus_threads",
    "programs-threads_on_mpi",
    "unit_array_element",
    "unit_array_node_slices",
    "unit_array_observe",
    "unit_array_parts",
    "unit_array_prefetch",
    "unit_array_random",
    "unit_array_replica",
    "unit_array_sparse",
    "unit_array_threads",
    "unit_cache_prefetch_buffer",
    "unit_cache_version_store",
    "unit_rma_threads_test",
    "unit_pgas_threads_test",
    "unit_transport_contract_test",
    "unit_transport_model_test",
)


class Counts(NamedTuple):
    """Outcomes."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        """Sums outcome by outcome."""
        return Counts(*(mine + theirs for mine, theirs in zip(self, other)))


def main() -> int:
    """Runs what the command line asks for."""
    options = _options()
    started = time.monotonic()
    selected = any((options.include, options.exclude, options.label))
    total = Counts()
    if not selected and options.preset == "release":
        total += run_lint()
    build = ROOT / "build" / options.preset
    targets = _TSAN_TARGETS if options.preset == "tsan" and not selected else ()
    if not compile_preset(options.preset, build, targets):
        total += Counts(failed=1)
    else:
        total += run_ctest(options, build)
    print(f"\n{time.monotonic() - started:.0f} s")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./nf test", description="Runs the tests.", allow_abbrev=False)
    parser.add_argument("--preset", choices=PRESETS, default="release")
    parser.add_argument("-R", dest="include", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("-E", dest="exclude", metavar="REGEX", help="no tests whose name matches")
    parser.add_argument("-L", dest="label", metavar="REGEX", help="only tests with a matching label")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1, help="cores to use")
    parser.add_argument("--verbose", action="store_true", help="show the output of all tests")
    return parser.parse_args()


def run_lint() -> Counts:
    """The checks of the source text."""
    passed = lint.run(list(lint.CHECKS))
    return Counts(passed.count(True), passed.count(False))


def compile_preset(preset: str, build: Path, targets: Sequence[str] = ()) -> bool:
    """Configures and builds `targets` (default: everything); ./nf has already built the release preset."""
    commands = [["cmake", "--build", str(build), "-j", os.environ.get("NF_JOBS", str(os.cpu_count() or 1))]]
    commands[0] += ["--target", *targets] if targets else []
    if not (build / "build.ninja").exists():
        commands.insert(0, ["cmake", "--preset", preset, "--log-level=WARNING"])
    for command in commands:
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            print(f"run_tests.py: the preset {preset} does not build (see above): repair it", file=sys.stderr)
            return False
    return True


def run_ctest(options: argparse.Namespace, build: Path) -> Counts:
    """The tests of the build folder `build`."""
    report = build / "tests.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(build), "-j", str(options.jobs), "--output-junit", str(report)]
    command += ["--verbose"] if options.verbose else ["--output-on-failure"]
    include = options.include
    if options.preset == "tsan" and not any((include, options.exclude, options.label)):
        include = _TSAN_TESTS
    for flag, value in (("-R", include), ("-E", options.exclude), ("-L", options.label)):
        if value:
            command += [flag, value]
    env = {name: value for name, value in os.environ.items() if not name.startswith("NEARFETCH_")}
    status = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    if not report.exists():
        return Counts(failed=1)
    return count(report, status)


def count(report: Path, status: int) -> Counts:
    """The outcomes in ctest's JUnit report; a bad exit code that they do not explain counts as a failure."""
    states = [case.get("status", "") for case in ElementTree.parse(report).getroot().iter("testcase")]
    skipped = sum(state in ("notrun", "disabled") for state in states)
    failed = sum(state == "fail" for state in states)
    return Counts(len(states) - skipped - failed, failed or int(status != 0), skipped)


if __name__ == "__main__":
    sys.exit(main())
