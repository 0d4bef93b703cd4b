"""Runs unmodified PyTorch in several processes that share simulated GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("allocator", ["", "expandable_segments:True"])
def test_tensors_are_shared_between_processes_with_their_data(
    rehearse: Rehearse, python: str, allocator: str
) -> None:
    job = rehearse(
        python, PROGRAMS / "share_tensors.py", env={"PYTORCH_CUDA_ALLOC_CONF": allocator}
    )
    assert job.status == 0, job.err[-4000:]
    assert job.out.splitlines()[:6] == [
        "sum there 10.0",
        "the other's context counts True",
        "last there 499999.0",
        "written there [0.0, 1.0, 2.0, 3.0]",
        "sum here 7000.0",
        "exit 0",
    ]


@pytest.mark.parametrize("cards", [1, 2])
def test_two_processes_train_together(
    rehearse: Rehearse, python: str, tmp_path: Path, cards: int
) -> None:
    job = rehearse(
        python,
        PROGRAMS / "train_two_processes.py",
        str(cards),
        tmp_path / "store",
        card=f"h200,count={cards}",
    )
    assert job.status == 0, job.err[-4000:]
    free = dict(re.findall(r"rank (\d) free (\d+)", job.out))
    assert sorted(free) == ["0", "1"]
    if cards == 1:
        assert free["0"] == free["1"], "they see the same card"
