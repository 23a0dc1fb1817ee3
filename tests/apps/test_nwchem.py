# SPDX-License-Identifier: Apache-2.0
"""NWChem gives the same energies under nearfetch; hits are validated."""

from __future__ import annotations

import os
from typing import Any

import pytest
from launch import environment, sanitizers

from bench import harness, nwchem

WATER = {"SCF": -76.0105050}
"""Energies of water with 6-31G* in this geometry, in hartree, by NWChem without nearfetch."""

ATOMIC_READS = nwchem.Job("water_scf", network="shm")
GETS = nwchem.Job("water_scf", nwchem.GETS)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """NWChem is installed and can load this build of nearfetch."""
    if not nwchem.is_installed():
        pytest.skip("no NWChem (nwchem-openmpi is not installed)")
    if sanitizers(harness.BUILD):
        pytest.skip("NWChem was built without the sanitizers' runtime")
    for name, value in environment(dict(os.environ), harness.BUILD, 4).items():
        monkeypatch.setenv(name, value)


def run(job: nwchem.Job, mode: str | None = "acquire", ranks: int = 2, **settings: Any) -> harness.Outcome:
    """Runs a job and checks the energy."""
    report, outcome = nwchem.measure(job, harness.Side(mode, settings), ranks)
    assert report["energies"] == WATER
    return outcome


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("mode", "ranks"), [(None, 2), ("transparent", 2), ("acquire", 2), ("acquire", 4)])
def test_same_energy(mode: str | None, ranks: int) -> None:
    outcome = run(ATOMIC_READS, mode, ranks)
    assert len(outcome.counters) == (ranks if mode else 0)
    if mode:
        assert outcome.total("puts") > 0
        assert outcome.total("flushes_elided") > 0.8 * outcome.total("flushes")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("job", "promises"),
    [(GETS, {}), (nwchem.Job("water_scf"), nwchem.PROMISES)],
    ids=["gets", "atomic reads"],
)
def test_what_is_served_is_what_is_there(job: nwchem.Job, promises: dict[str, str]) -> None:
    outcome = run(job, check_hits=1, **promises)
    hits, served = outcome.total("hits"), outcome.total("hits") + outcome.total("pending_hits")
    assert served > 0.9 * (outcome.total("gets") - outcome.total("bypassed"))
    # During an own update, as an accumulate, a hit is not validated.
    assert (hits if job == GETS else 0.98 * hits) <= outcome.total("checked_hits") <= hits
    assert hits > 0
    assert outcome.total("stale_hits") == 0
    assert outcome.total("read_aheads") > 0


@pytest.mark.usefixtures("installed")
def test_input_that_nwchem_refuses(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.nw").write_text("start bad\ntask scf energy\n", encoding="utf-8")
    monkeypatch.setattr(nwchem, "DECKS", tmp_path)
    with pytest.raises(harness.BenchError, match="a program failed(.|\n)*no geometry"):
        nwchem.measure(nwchem.Job("bad", network="shm"), harness.Side("acquire"))


def test_without_nwchem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nwchem, "COMMAND", "no-such-program")
    with pytest.raises(harness.BenchError, match="no no-such-program .* apt-get install nwchem-openmpi"):
        nwchem.measure(ATOMIC_READS)
