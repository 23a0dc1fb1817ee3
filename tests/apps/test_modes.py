# SPDX-License-Identifier: Apache-2.0
"""A stronger promise never gains less: the programs of `./nf bench modes`, by messages and hits.

Nothing is bypassed: what hits does not depend on how long anything takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

import pytest
from conftest import PROGRAMS, Starter

from bench.harness import Options
from bench.modes import Program, programs

KNOWN = programs(Options())


class Step(NamedTuple):
    """A mode with promises."""

    mode: str
    promises: Mapping[str, object] = {}

    def __str__(self) -> str:
        return " ".join([self.mode, *(f"{name}={value}" for name, value in self.promises.items())])


class Traffic(NamedTuple):
    """What a run did, all ranks together."""

    messages: int
    """For gets."""
    put_messages: int
    hits: int


def ladder(program: Program) -> list[Sequence[Step]]:
    """Steps from weaker to stronger promises that the program keeps. Always-cache is the strongest."""
    read_only = {"read_only_phases": "on"}
    stronger = []
    if program.read_only or program.best == "user-defined":
        stronger += [Step("user-defined"), Step("user-defined", read_only)]
    if program.read_only:
        stronger += [Step("always-cache")]
    weakest = [Step("transparent"), Step("acquire")]
    if not program.promise:
        return [[*weakest, *stronger]]
    claimed = [Step(mode, {**promises, **program.promise}) for mode, promises in stronger]
    promised = Step("acquire", program.promise)
    return [[*weakest, *stronger], [Step("acquire"), promised, *claimed], [promised, *stronger[-1:]]]


def measure(start: Starter, program: Program, step: Step, family: str) -> tuple[Traffic, Any]:
    """The traffic of a run, and its result."""
    settings = {"bypass": "off", **step.promises}
    run = start.good(*program.arguments, family=family, ranks=2, mode=step.mode, settings=settings)

    def total(name: str) -> int:
        return sum(rank[name] for rank in run.counters)

    hits = total("hits") + total("pending_hits")
    put_messages = total("puts") - total("puts_combined") + total("put_messages")
    return Traffic(total("gets") - hits, put_messages, hits), run.json[program.same]


@pytest.mark.parametrize("program", KNOWN, ids=[program.title.replace(" ", "_") for program in KNOWN])
def test_a_stronger_promise_never_gains_less(program: Program, family: str, tmp_path: Path) -> None:
    if not (PROGRAMS / family / program.name).exists():
        pytest.skip(f"no {program.name} for {family}")
    start = Starter(program.name, tmp_path, "tcp")
    results: dict[str, tuple[Traffic, Any]] = {}
    for steps in ladder(program):
        for step in steps:
            if str(step) not in results:
                results[str(step)] = measure(start, program, step, family)
        for weak, strong in zip(steps, steps[1:]):
            (weaker, result), (stronger, same) = results[str(weak)], results[str(strong)]
            what = f"{weak}: {weaker}, {strong}: {stronger}"
            assert result == same, what
            assert stronger.messages <= 1.02 * weaker.messages + 8, what
            assert stronger.put_messages <= 1.02 * weaker.put_messages + 8, what
            assert 1.02 * stronger.hits + 8 >= weaker.hits, what
