"""Memory that a program moves to the host uses this machine's memory only if it is computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAM = Path(__file__).parent / "programs/saved_on_cpu.py"
MIB = 1024  # the number of KiB in a MiB


@pytest.mark.parametrize("pool", ["on", "off"])
def test_activations_that_are_saved_on_the_host_take_none_of_this_machine(
    rehearse: Rehearse, python: str, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VRAMSTOW_POOL", pool)
    taken = {}
    for where in ("host", "kept"):
        job = rehearse(python, PROGRAM, "memory", "4", where, card="h200,allowance=0", timeout=300)
        assert job.status == 0, job.err[-4000:]
        taken[where] = json.loads(job.out.splitlines()[-1])
    assert taken["host"]["host"] < taken["kept"]["host"] + 128 * MIB, taken
    assert taken["host"]["card"] < taken["kept"]["card"] + 64 * MIB, taken


def test_what_is_computed_comes_back_from_the_host_to_the_bit(
    rehearse: Rehearse, python: str
) -> None:
    said = {}
    for where in ("host", "kept"):
        job = rehearse(python, PROGRAM, "values", where, card="h200,values=all", timeout=300)
        assert job.status == 0, job.err[-4000:]
        said[where] = json.loads(job.out.splitlines()[-1])
    assert said["host"] == said["kept"]
    losses = {step[0] for step in said["host"]}
    assert len(losses) == 3, "each step has a loss of its own"
    assert all(any(byte != "0" for byte in part) for step in said["host"] for part in step)
