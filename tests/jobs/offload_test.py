"""A job whose memory is larger than the card: it dies, or with --offload it is done, and right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
CARD = "h200,memory=600MiB"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
POOL = {"VRAMSTOW_POOL": "on"}
OFFLOAD = POOL | {"VRAMSTOW_OFFLOAD": "auto,host=2GiB", "VRAMSTOW_CHECK": "1"}


@pytest.mark.parametrize("settings", [{}, EXPANDABLE, POOL], ids=["native", "expandable", "pool"])
def test_it_dies_where_nothing_can_move(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card=CARD, env=settings)
    assert job.status == 1
    assert "torch.OutOfMemoryError" in job.err


@pytest.mark.parametrize("level", ["segments", "tensors"])
def test_it_is_done_where_memory_moves(rehearse: Rehearse, python: str, level: str) -> None:
    env = OFFLOAD | {"VRAMSTOW_LEVEL": level}
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card=CARD, env=env)
    job.assert_well(steps=2)
    assert job.analysis()["peak"]["allocated_bytes"] >= 1 << 30
    analysis = job.analysis()
    assert analysis["offload"]["out_bytes"] >= 400 << 20
    assert analysis["offload"]["longest_gate_ns"] > 0
    assert analysis["peak"]["reserved_bytes"] <= 600 << 20
    assert "to the host" in job.err


def test_host_memory_that_is_too_small_is_not_exceeded(rehearse: Rehearse, python: str) -> None:
    env = OFFLOAD | {"VRAMSTOW_OFFLOAD": "auto,host=64MiB"}
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card=CARD, env=env)
    assert job.status == 1
    assert "torch.OutOfMemoryError" in job.err
