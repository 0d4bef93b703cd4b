"""A runtime that creates its contexts past every hook: the pool serves nevertheless, and if it
serves nothing, the summary says so first."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from built import ROOT
from conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
POOL = {"VRAMSTOW_POOL": "on", "VRAMSTOW_CHECK": "1", "PYTHONPATH": str(ROOT / "python")}
WAYS = ("public", "private")


def first_line_of_the_summary(job: Rehearsal) -> str:
    return next(
        line for line in job.err.splitlines() if "SIMULATED RUN" in line or "SERVED NOTHING" in line
    )


@pytest.mark.parametrize("pool", ["on", "off"])
def test_cards_resets_and_peers_are_the_same_in_both_ways(
    rehearse: Rehearse, python: str, pool: str
) -> None:
    told = []
    for way in WAYS:
        job = rehearse(
            python,
            PROGRAMS / "primary_contexts.py",
            card=f"h200,memory=4GiB,count=2,primary={way}",
            env=POOL | {"VRAMSTOW_POOL": pool},
        )
        assert job.status == 0, job.err[-4000:]
        assert "report this" not in job.err
        assert f"served {pool == 'on'}" in job.out
        assert "SERVED NOTHING" not in job.err
        told.append(job.out)
        for trace in job.traces:
            trace.unlink()
    assert told[0] == told[1]


def test_a_training_is_served_by_the_pool(rehearse: Rehearse, python: str) -> None:
    job = rehearse(
        python, EXAMPLES / "mlp.py", "--steps", "5", card="h200,primary=private", env=POOL
    )
    job.assert_well(steps=5)
    by_call = job.analysis()["by_call"]
    # Without the adapter vramstow sees no event for the segments in which the tensors lie. The
    # tensors are recorded all the same.
    assert any(row["call"] == "tensor" for row in by_call), by_call


def test_a_pool_that_served_nothing_is_said_first_with_the_reason(
    rehearse: Rehearse, python: str
) -> None:
    program = "import torch; torch.cuda.init(); torch.cuda.current_stream().synchronize()"
    job = rehearse(python, "-c", program, env=POOL)
    assert job.status == 0, job.err[-4000:]
    assert (
        first_line_of_the_summary(job)
        == "vramstow: THE POOL SERVED NOTHING: the program requested no memory that a pool can "
        "serve."
    )
