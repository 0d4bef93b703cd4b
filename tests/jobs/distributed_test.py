"""Jobs of two processes on two simulated GPUs: their data and both traces are right."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from built import free_port
from conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAM = Path(__file__).parent / "programs/distributed.py"


def torchrun(python: str) -> list[str]:
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_collectives_ddp_and_fsdp2(rehearse: Rehearse, python: str, backend: str) -> None:
    job = rehearse(*torchrun(python), PROGRAM, backend, card="h200,count=2")
    assert job.status == 0, job.err[-4000:]
    assert sorted(job.out.splitlines())[-2:] == ["rank 0: done", "rank 1: done"]
    assert job.assert_trace_equals_call_log() > 0
    analysis = job.analysis()
    assert ("libnccl.so.2" in str(analysis["by_library"])) == (backend == "nccl")


# Starts two ranks without torchrun, which would end the second rank when the first one fails.
TWO_RANKS = """
import os, subprocess, sys
ranks = []
for rank in ("0", "1"):
    where = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2"}
    where |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": sys.argv[1]}
    ranks.append(subprocess.Popen([sys.executable, *sys.argv[2:]], env=os.environ | where))
print("statuses", [rank.wait(250) for rank in ranks])
"""


def test_a_killed_rank_does_not_hang_the_other(rehearse: Rehearse, python: str) -> None:
    job = rehearse(
        *(python, "-c", TWO_RANKS, str(free_port()), PROGRAM, "nccl", "90"),
        card="h200,count=2",
        env={"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"},
    )
    assert "rank 0: done" in job.out, job.err[-4000:]
    assert "statuses [0, -9]" in job.out, job.out
    assert "rank 1 has died or left" in job.err


def test_nothing_of_a_job_stays_behind() -> None:
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("vramstow-nccl")]
