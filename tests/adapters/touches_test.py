"""A simulated run touches the memory that operators, collectives, kernels and graphs use, and no
other."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import run_vramstow
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

# The comparison of this test is in the acceptance kit for real GPUs, which also runs it.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "card"))

from kit import touches

Rehearse = Callable[..., Rehearsal]
PROGRAM = Path(__file__).parent / "programs/use_memory.py"


def as_csv(trace: Path) -> str:
    return run_vramstow("export", trace, "--to", "csv", check=True).stdout


# With world= the other ranks are absent, and NCCL makes no copies for them.
@pytest.mark.parametrize("options", ["values=decide", "values=off", "values=off,world=8,rank=0"])
def test_each_tensor_that_work_uses_is_touched_and_no_other(
    rehearse: Rehearse, python: str, options: str
) -> None:
    job = rehearse(
        python,
        PROGRAM,
        card=f"h200,memory=16GiB,{options}",
        env={"VRAMSTOW_POOL": "on", "VRAMSTOW_OFFLOAD": "explicit,touches"},
        timeout=300,
    )
    assert job.status == 0, job.err[-4000:]
    found = touches.compare(json.loads(job.out.splitlines()[-1]), as_csv(job.traces[0]))
    assert found.cases >= 80 and found.used >= 100
    assert not found.differs, str(found)
