"""Tests every way in which PyTorch allocates memory: jobs work, the trace equals the call log."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]

IS_LONG = "VRAMSTOW_LONG" in os.environ
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}


def calls_of(job: Rehearsal) -> dict[str, int]:
    return {row["call"]: row["allocations"] for row in job.analysis()["by_call"]}


def test_a_training_step_captured_and_replayed_on_stream_ordered_memory(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, EXAMPLES / "cuda_graph.py", "--steps", "2", env=ASYNC)
    job.assert_well(steps=2)
    assert calls_of(job)["cuMemAllocAsync"] > 0


@pytest.mark.parametrize("settings", [{}, ASYNC], ids=["native", "cudaMallocAsync"])
def test_memory_allocated_in_a_capture_is_freed_outside(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    job = rehearse(python, PROGRAMS / "async_graph.py", env=settings)
    job.assert_well(steps=3)
    assert "at the end nothing is left" in job.out


@pytest.mark.parametrize("where", ["everywhere", "in a pool"])
def test_an_allocator_of_ones_own(
    rehearse: Rehearse, python: str, tmp_path: Path, where: str
) -> None:
    library = tmp_path / "allocator.so"
    source = PROGRAMS / "pluggable_allocator.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    options = ["--pool"] if where == "in a pool" else []
    job = rehearse(python, PROGRAMS / "pluggable_allocator.py", library, *options)
    job.assert_well(steps=3)
    counted = int(job.out.split("allocations ")[1].split(",")[0])
    by_library = {Path(row["library"]).name: row for row in job.analysis()["by_library"]}
    row = by_library["allocator.so"]
    # In a memory pool of PyTorch's, the tensors count as allocations, and the library's segments
    # count as reserved memory.
    expected = 0 if where == "in a pool" else counted
    assert row["allocations"] == expected
    assert row["calls"] >= counted > 0


def test_pools_of_ones_own(rehearse: Rehearse, python: str) -> None:
    rehearse(python, PROGRAMS / "memory_pools.py").assert_well(steps=3)


def test_two_devices_with_copies_between_them(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "two_devices.py", card="h200,count=2")
    job.assert_well(steps=4)
    peaks = [device["peak_bytes"] for device in job.analysis()["devices"]]
    assert len(peaks) == 2 and min(peaks) > 0


@pytest.mark.parametrize("seed", [1, 2, 3] if IS_LONG else [1])
def test_two_streams_and_record_stream_never_see_wrong_data(
    rehearse: Rehearse, python: str, seed: int
) -> None:
    card = f"h200,kernel-time=100us,seed={seed}"
    rehearse(python, PROGRAMS / "two_streams.py", card=card).assert_well(steps=8)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_workers(rehearse: Rehearse, python: str, start: str) -> None:
    rehearse(python, PROGRAMS / "data_workers.py", "--start", start).assert_well(steps=4)


SETTINGS = [
    "garbage_collection_threshold:0.1,max_split_size_mb:32",
    "pinned_use_cuda_host_register:True,pinned_num_register_threads:2",
]
if IS_LONG:
    SETTINGS += [
        "roundup_power2_divisions:4,max_non_split_rounding_mb:32",
        "expandable_segments:True,garbage_collection_threshold:0.5",
    ]


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_torchs_allocator(rehearse: Rehearse, python: str, setting: str) -> None:
    job = rehearse(
        python,
        EXAMPLES / "transformer.py",
        "--steps",
        "2",
        card="h200,memory=4GiB",
        env={"PYTORCH_CUDA_ALLOC_CONF": setting},
    )
    job.assert_well(steps=2)


def test_a_rehearsal_is_marked_as_one_everywhere(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, "-c", "import torch; torch.ones(3).cuda(); print('step 1')")
    job.assert_well(steps=1)
    assert "SIMULATED RUN" in job.err  # the summary says so
    analysis = job.analysis()
    assert analysis["process"]["simulated"] is True
    assert "simulated" in analysis["facts"]["simulated"]  # the trace says so, too
    assert "SIMULATED RUN" in job.report()
