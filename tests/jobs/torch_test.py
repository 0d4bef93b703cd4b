"""Unmodified PyTorch training jobs work in the simulator, with the pool and without, and the trace
equals the call log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import EXAMPLES, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
pytestmark = pytest.mark.usefixtures("pool")


def assert_well(job: Rehearsal, steps: int) -> None:
    assert job.status == 0, job.err[-4000:]
    assert len([line for line in job.out.splitlines() if line.startswith("step ")]) == steps
    compared = job.assert_trace_equals_call_log()
    analysis = job.analysis()
    assert analysis["counts"]["frees"] + analysis["counts"]["allocations"] > 0
    if os.environ["VRAMSTOW_POOL"] == "off":
        assert job.calls_of_the_driver(analysis) <= compared
    assert "not its tensors" not in job.err
    assert 0 < analysis["peak"]["allocated_bytes"] <= analysis["peak"]["reserved_bytes"]
    assert "report this" not in job.err
    assert analysis["input"]["report"]["missing_events"] == 0


def test_a_transformer_with_autocast_adamw_clipping_and_pinned_data_workers(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, EXAMPLES / "transformer.py", "--steps", "4")
    assert_well(job, steps=4)
    assert "libc10_cuda.so" in str(job.analysis()["by_library"])


def test_the_same_with_expandable_segments(rehearse: Rehearse, python: str) -> None:
    job = rehearse(
        python,
        EXAMPLES / "transformer.py",
        "--steps",
        "4",
        env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "VRAMSTOW_LEVEL": "segments"},
    )
    assert_well(job, steps=4)
    calls = job.analysis()["by_call"]
    assert "cuMemCreate" in str(calls) and "cuMemMap" in str(calls)


def test_an_mlp_with_adam(rehearse: Rehearse, python: str) -> None:
    assert_well(rehearse(python, EXAMPLES / "mlp.py", "--steps", "5"), steps=5)


def test_a_conv_net_through_cudnn(rehearse: Rehearse, python: str) -> None:
    assert_well(rehearse(python, EXAMPLES / "convnet.py", "--steps", "3"), steps=3)


OTHERS = ["attention", "cuda_graph", "lstm"] if os.environ.get("VRAMSTOW_LONG") else ["cuda_graph"]


@pytest.mark.parametrize("example", OTHERS)
def test_the_other_examples(rehearse: Rehearse, python: str, example: str) -> None:
    job = rehearse(python, EXAMPLES / f"{example}.py")
    assert job.status == 0, job.err[-4000:]
    job.assert_trace_equals_call_log()
    assert job.analysis()["peak"]["allocated_bytes"] > 0


def test_out_of_memory_is_torchs_own_error_and_the_job_recovers(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, EXAMPLES / "out_of_memory.py", card="h200,memory=512MiB")
    assert job.status == 0, job.err[-4000:]
    assert "OutOfMemoryError" in job.out
    assert "recovered" in job.out
    job.assert_trace_equals_call_log()
    analysis = job.analysis()
    assert analysis["counts"]["out_of_memory"] > 0
    assert analysis["peak"]["allocated_bytes"] <= 512 * 2**20


def test_130_gibibytes_cost_only_what_is_written(rehearse: Rehearse, python: str) -> None:
    program = (
        "import resource, torch\n"
        "blocks = [torch.empty(2**30, dtype=torch.uint8, device='cuda') for _ in range(130)]\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n"
    )
    job = rehearse(python, "-c", program)
    assert job.status == 0, job.err[-4000:]
    assert int(job.out) < 3 * 2**30
    assert job.analysis()["peak"]["allocated_bytes"] >= 130 * 2**30


def test_with_stacks_the_line_that_asked_is_named(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    script = tmp_path / "asker.py"
    script.write_text(
        "import torch\n"
        "def ask():\n"
        "    return torch.empty(48 << 20, dtype=torch.uint8, device='cuda')\n"
        "kept = ask()\n"
    )
    job = rehearse(python, script, env={"VRAMSTOW_STACKS": "sites"})
    assert job.status == 0, job.err[-4000:]
    sites = {site["site"]: site["total_bytes"] for site in job.analysis()["by_site"]}
    assert sites.get("asker.py:3 ask") == 48 << 20, sites
