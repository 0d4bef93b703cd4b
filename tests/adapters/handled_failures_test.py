"""A failed request that PyTorch itself handles is not reported as a failure of the program."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, events_of
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
OBSERVED = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_CENSUS": "on"}
BOTH = pytest.mark.parametrize("pool", ["off", "on"])
CARD = "h200,memory=420MiB,values=off"


def censuses(job: Rehearsal) -> int:
    """Returns how many failed requests have marks after them, before the next request or free."""
    (trace,) = job.traces
    count = 0
    is_refused = False
    for row in events_of(trace):
        if row["kind"] == "mark" and is_refused:
            count += 1
            is_refused = False
        elif row["call"] == "tensor":
            is_refused = row["result"] == "2"
    return count


@BOTH
def test_a_workspace_that_cudnn_is_refused_is_no_out_of_memory(
    rehearse: Rehearse, python: str, pool: str
) -> None:
    settings = OBSERVED | {"VRAMSTOW_POOL": pool}
    job = rehearse(python, OWN / "refused_workspace.py", "ends", card=CARD, env=settings)
    assert job.status == 0, job.err[-4000:]
    refused = int(job.out.split(":")[1])
    assert refused > 0, "cuDNN got all that it asked for"
    facts = job.analysis()
    counts = facts["counts"]
    assert counts["out_of_memory"] == 0 and facts["out_of_memory"] == []
    assert counts["handled_failures"] == counts["failed_allocations"] == refused
    assert censuses(job) == 0
    assert "memory ran out" not in job.err
    check = [VRAMSTOW, "check", *job.traces, "--assert", "out_of_memory == 0"]
    assert subprocess.run(check, capture_output=True).returncode == 0


@BOTH
def test_the_failure_that_ends_the_job_has_the_story(
    rehearse: Rehearse, python: str, pool: str
) -> None:
    settings = OBSERVED | {"VRAMSTOW_POOL": pool}
    job = rehearse(python, OWN / "refused_workspace.py", "dies", card=CARD, env=settings)
    assert "OutOfMemoryError" in job.err, job.err[-4000:]
    facts = job.analysis()
    assert facts["counts"]["out_of_memory"] == 1
    assert facts["counts"]["handled_failures"] > 0
    (failure,) = facts["out_of_memory"]
    kept = failure["would_fit"][0]
    last = kept["bytes"] // (32 << 20) - 1
    assert kept["holder"] == f"main: seen[0..{last}]", failure["would_fit"]
    assert censuses(job) == 1


@BOTH
def test_an_error_that_the_program_catches_is_its_own(
    rehearse: Rehearse, python: str, pool: str
) -> None:
    settings = OBSERVED | {"VRAMSTOW_POOL": pool}
    job = rehearse(python, OWN / "refused_workspace.py", "catches", card=CARD, env=settings)
    assert job.status == 0, job.err[-4000:]
    assert job.out == "caught\n"
    counts = job.analysis()["counts"]
    assert counts["out_of_memory"] == 1 and counts["handled_failures"] == 0
