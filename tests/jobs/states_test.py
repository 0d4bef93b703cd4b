"""An optimizer whose state does not fit steps in pieces, and computes the same as at once."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
CARD = "h100,values=all,context=64MiB"
MOVES = {"VRAMSTOW_POOL": "on", "VRAMSTOW_OFFLOAD": "auto,host=4GiB"}
TENSORS = 16
# For these optimizers the program counts how often it calls functions that handle lists of tensors.
COUNTED = ["foreach", "fused", "groups", "scaler"]
KINDS = [*COUNTED, "loop", "capturable", "momentum", "fused momentum", "rmsprop", "adagrad"]
KINDS += ["nadam", "radam", "adamax", "adadelta", "adafactor"]


def told(job: Rehearsal) -> list[dict]:
    assert job.status == 0, job.err
    return [json.loads(line) for line in job.out.splitlines()]


def run(
    rehearse: Rehearse, python: str, kind: str, factor: float = 0.0, held: dict | None = None
) -> list[dict]:
    """Runs the job; with a factor, on a GPU with the memory of `held` at its peak divided by it."""
    card, env = CARD, {}
    if held is not None:
        memory = held["outside_bytes"] + int(held["allocated_bytes"] / factor)
        card, env = f"{CARD},memory={memory >> 20}MiB", MOVES
    return told(rehearse(python, PROGRAMS / "steps_in_pieces.py", kind, card=card, env=env))


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_the_same_in_pieces(rehearse: Rehearse, python: str, kind: str) -> None:
    *roomy, held = run(rehearse, python, kind)
    *narrow, _ = run(rehearse, python, kind, 1.8, held)
    results = [[step.get("loss"), step.get("total")] for step in roomy]
    assert [[step.get("loss"), step.get("total")] for step in narrow] == results
    if kind in COUNTED:
        first, last = narrow[0]["calls"], narrow[-2]["calls"]
        assert first == roomy[0]["calls"]
        assert last["calls"] > first["calls"]
        assert last["most"] < first["most"]


def test_a_job_that_fits_steps_at_once(rehearse: Rehearse, python: str) -> None:
    *roomy, held = run(rehearse, python, "foreach")
    *fits, _ = run(rehearse, python, "foreach", 0.5, held)
    assert fits == roomy
    assert fits[0]["calls"]["most"] == TENSORS


def test_dynamo_compiles_nothing_of_vramstow(rehearse: Rehearse, python: str) -> None:
    program = PROGRAMS / "compiled_step.py"
    card = f"{CARD},memory=4GiB"
    moving = rehearse(python, program, card=card, env=MOVES)
    assert moving.status == 0, moving.err[-4000:]
    assert moving.out == rehearse(python, program, card=card).out != ""
