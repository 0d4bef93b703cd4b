"""Memory that only garbage holds is collected before an out-of-memory error, and nothing else
changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
POOLED = {
    "VRAMSTOW_POOL": "on",
    "VRAMSTOW_LEVEL": "tensors",
    "VRAMSTOW_CENSUS": "on",  # compiles it before anything runs
    "VRAMSTOW_COLLECT": "auto",
}
CARD = "h200,memory=1GiB,values=off"
ROUNDS = "60"  # each allocates 32 MiB


def often(*values: object) -> list[object]:
    """Returns values that are tested in every run of the tests."""
    return list(values)


def seldom(*values: object) -> list[object]:
    """Returns values that are tested only in the long run."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        for value in values
    ]


def run(rehearse: Rehearse, python: str, program: str, way: str, **settings: str) -> Rehearsal:
    arguments = (way, ROUNDS) if program == "cycles.py" else (way,)
    return rehearse(
        python, OWN / program, *arguments, card=CARD, env=POOLED | settings, timeout=120
    )


def test_objects_that_refer_to_themselves_live_with_the_pool(
    rehearse: Rehearse, python: str
) -> None:
    job = run(rehearse, python, "cycles.py", "plain")
    assert (job.status, job.out) == (0, "done plain\n"), job.err[-2000:]
    assert job.analysis()["out_of_memory"] == []


def test_they_die_where_nothing_is_to_be_collected(rehearse: Rehearse, python: str) -> None:
    job = run(rehearse, python, "cycles.py", "plain", VRAMSTOW_COLLECT="off")
    assert job.status == 1
    assert "OutOfMemoryError" in job.err, job.err[-2000:]


def test_it_works_without_a_trace_and_without_a_census(rehearse: Rehearse, python: str) -> None:
    settings = {"VRAMSTOW_TRACE": "off", "VRAMSTOW_CENSUS": "off", "VRAMSTOW_COLLECT": "on"}
    job = run(rehearse, python, "cycles.py", "plain", **settings)
    assert (job.status, job.out) == (0, "done plain\n"), job.err[-2000:]


UNPOOLED = {"VRAMSTOW_POOL": "off", "VRAMSTOW_CENSUS": "off"}


def test_they_live_without_the_pool_where_that_is_asked_for(
    rehearse: Rehearse, python: str
) -> None:
    job = run(rehearse, python, "cycles.py", "plain", **UNPOOLED, VRAMSTOW_COLLECT="on")
    assert (job.status, job.out) == (0, "done plain\n"), job.err[-2000:]
    assert job.analysis()["out_of_memory"] == []
    assert job.analysis()["garbage"]["collections"] > 0


def test_they_die_without_the_pool_where_nobody_asks(rehearse: Rehearse, python: str) -> None:
    job = run(rehearse, python, "cycles.py", "plain", **UNPOOLED)
    assert job.status == 1
    assert "OutOfMemoryError" in job.err, job.err[-2000:]


@pytest.mark.parametrize(
    "way", often("backward", "with_lock", "threads") + seldom("models", "old", "graphs", "frozen")
)
def test_garbage_of_each_kind_goes_first(rehearse: Rehearse, python: str, way: str) -> None:
    job = run(rehearse, python, "cycles.py", way)
    assert (job.status, job.out) == (0, f"done {way}\n"), job.err[-2000:]


def test_threads_that_fill_the_card_together_share_what_a_collection_brings(
    rehearse: Rehearse, python: str
) -> None:
    job = run(rehearse, python, "cycles.py", "quarrel")
    assert (job.status, job.out) == (0, "failed 0\ndone quarrel\n"), job.err[-2000:]


def test_a_collector_that_the_program_has_switched_off_stays_off_unless_asked_for(
    rehearse: Rehearse, python: str
) -> None:
    assert run(rehearse, python, "cycles.py", "disabled").status == 1
    asked = run(rehearse, python, "cycles.py", "disabled", VRAMSTOW_COLLECT="on")
    assert (asked.status, asked.out) == (0, "done disabled\n"), asked.err[-2000:]


@pytest.mark.parametrize(
    ("way", "told"),
    often(
        ("raises", "told True\n"),
        ("forks", f"children {[0] * 10}\n"),
        ("ends", ""),
        ("captures", "captured ['out of memory'] 256\n"),
    )
    + seldom(
        ("allocates", "failed True\n"),
        ("resurrects", "risen 1 8388608\n"),
        ("collects", ""),
        ("waits", "failed True\n"),
        ("watched", "phases ['start 1', 'stop 1'] threshold (1000000, 10, 10) enabled True\n"),
        ("alive", "['CUDA out of memory'] True\n"),
        ("too_large", "refused []\n"),
    ),
)
def test_whatever_the_program_does_it_goes_on(
    rehearse: Rehearse, python: str, way: str, told: str
) -> None:
    job = run(rehearse, python, "hostile_cycles.py", way)
    assert (job.status, job.out) == (0, f"{told}done {way}\n"), job.err[-2000:]


@pytest.mark.parametrize("python_lock", ["with", "without"])
def test_a_library_that_holds_a_lock_while_it_asks_waits_for_nobody_without_an_end(
    rehearse: Rehearse, python: str, python_lock: str, tmp_path: Path
) -> None:
    library = tmp_path / "libforeign_lock.so"
    compiler = os.environ.get("CXX", "c++")
    source = OWN / "foreign_lock.cc"
    subprocess.run(
        [compiler, "-std=c++20", "-fPIC", "-shared", source, "-o", library, "-ldl"], check=True
    )
    job = rehearse(
        python, OWN / "foreign_lock.py", library, python_lock, card=CARD, env=POOLED, timeout=120
    )
    assert (job.status, job.out) == (0, "done False True\n"), job.err[-2000:]


@pytest.mark.parametrize("failing", often(30) + seldom(60))
def test_a_call_of_the_driver_that_fails_meanwhile_changes_nothing(
    rehearse: Rehearse, python: str, failing: int
) -> None:
    card = f"{CARD},fail=cuMemCreate:{failing}"
    job = rehearse(python, OWN / "cycles.py", "plain", ROUNDS, card=card, env=POOLED, timeout=120)
    assert (job.status, job.out) == (0, "done plain\n"), job.err[-2000:]
