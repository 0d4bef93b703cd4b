"""A census at an out-of-memory: who holds the memory is told, and the program notices nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
OBSERVED = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_CENSUS": "on"}
POOLED = OBSERVED | {"VRAMSTOW_POOL": "on"}
CARD = "h200,memory=480MiB,values=off"

HOLDERS = {
    'global cache["kv"][0..1]': "other",
    "global cache[7]": "other",
    "global history[0..2].grad_fn → saved by ExpBackward0": "saved",
    "global count → counter.<locals>.count: closure seen[0]": "other",
    "global generator → its frame": "other",
    "global slots.kept": "other",
    "global Shelf.shared": "other",
    "global twice.grad_fn → TwiceBackward → saved": "saved",
    "global twice.grad_fn → TwiceBackward.factor": "other",
    "global call.args[0]": "other",
    "global queue[…]": "other",
    "global model.0.weight": "parameter",
    "global model.0.weight.grad": "gradient",
    "global model.table": "buffer",
    'global optimizer.state[model.0.weight]["exp_avg"]': "optimizer_state",
    'hook of global model.0: default of <lambda>["kept"]': "other",
    'Shelf.books["first"]': "other",
    "Shelf.ask: mine": "other",
    "exception being handled in <module>: frame fail, variable broken": "other",
}


def holders_of(job: Rehearsal) -> dict[str, str]:
    assert job.traces, job.err[-2000:]
    last: dict[str, Any] = job.analysis()["out_of_memory"][-1]
    return {row["holder"]: row["role"] for row in last["holders"]}


@pytest.mark.parametrize("settings", [OBSERVED, POOLED], ids=["observed", "pooled"])
def test_each_way_to_hold_a_tensor_is_told(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    job = rehearse(python, OWN / "holders.py", card=CARD, env=settings)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    told = holders_of(job)
    assert not {name: role for name, role in HOLDERS.items() if told.get(name) != role}, told


@pytest.mark.parametrize("settings", [OBSERVED, POOLED], ids=["observed", "pooled"])
def test_no_code_of_the_program_runs_and_nothing_is_kept(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "hostile.py", card=card, env=settings)
    assert job.status == 0, job.err[-2000:]
    lines = dict(line.split(" ", 1) for line in job.out.splitlines())
    assert job.out.splitlines()[0] == "calls []"
    assert "same references True" in job.out
    assert "same collector True" in job.out
    assert lines["error"] == "CUDA out of memory"
    told = holders_of(job)
    assert {"global objects[0..2].kept", "global watched", 'global table["a"]'} <= set(told), told


def test_the_collector_stays_off_where_the_program_has_switched_it_off(
    rehearse: Rehearse, python: str
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "hostile.py", "disabled", card=card, env=OBSERVED)
    assert "same collector True" in job.out, job.err[-2000:]


def test_threads_that_fail_while_the_collector_runs_go_on(rehearse: Rehearse, python: str) -> None:
    card = "h200,memory=2GiB,values=off"
    job = rehearse(python, OWN / "many_failures.py", "125", card=card, env=OBSERVED)
    assert job.status == 0, job.err[-2000:]
    assert "failed 1000" in job.out


def test_beside_millions_of_objects_it_says_what_it_did_not_reach(
    rehearse: Rehearse, python: str
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "many_objects.py", "5000000", card=card, env=OBSERVED)
    assert job.status == 0, job.err[-2000:]
    grown = int(job.out.partition("grown ")[2].split()[0])
    assert grown <= 100 + 20, "MiB"
    assert "global kept" in holders_of(job)


def test_census_off_looks_at_nothing(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, OWN / "holders.py", card=CARD, env=OBSERVED | {"VRAMSTOW_CENSUS": "off"})
    last = job.analysis()["out_of_memory"][-1]
    assert last["holders"] == []
    assert last["bytes_without_holder"] is None
