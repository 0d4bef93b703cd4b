"""Iterations are an optimizer's steps, with CUDA graphs too: neither warm-up nor capture count, nor
do steps that only create an optimizer's state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]


@pytest.mark.parametrize(
    "ways", [("train", "make_callable"), ("make_callable", "cut_off"), ("whole",), ("outside",)]
)
def test_each_step_that_is_made_is_one(
    rehearse: Rehearse, python: str, adapter_folder: str, ways: tuple[str, ...]
) -> None:
    job = rehearse(
        python,
        OWN / "graphed_steps.py",
        *ways,
        card="h200,memory=1GiB,values=off",
        env={"VRAMSTOW_ADAPTER_DIR": adapter_folder, "VRAMSTOW_CENSUS": "off"},
    )
    assert job.status == 0, job.err[-2000:]
    found = job.analysis()["iterations_found"]
    assert found["by"] == "optimizer_steps"
    assert found["is_sure"]
    assert found["count"] == int(job.out.split()[-1])


def test_a_step_that_only_makes_state_is_none(
    rehearse: Rehearse, python: str, adapter_folder: str
) -> None:
    job = rehearse(
        python,
        OWN / "loaded_state.py",
        "sharded",
        card="h200,memory=2GiB,values=off",
        env={"VRAMSTOW_ADAPTER_DIR": adapter_folder, "VRAMSTOW_CENSUS": "off"},
    )
    assert job.status == 0, job.err[-2000:]
    found = job.analysis()["iterations_found"]
    assert found["by"] == "optimizer_steps"
    assert found["count"] == 3
