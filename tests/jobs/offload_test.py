"""A job with more memory than the GPU dies; with --offload it succeeds with right results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT
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


def test_policies_are_compared_on_what_a_roomy_run_used(rehearse: Rehearse, python: str) -> None:
    settings = POOL | {"VRAMSTOW_OFFLOAD": "explicit,touches", "VRAMSTOW_LEVEL": "tensors"}
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card="h200,memory=2GiB", env=settings)
    job.assert_well(steps=2)
    assert job.analysis()["offload"]["out_bytes"] == 0
    replayed = job.replay("--models", "offload", "--memory", "600MiB")
    assert replayed.returncode == 0, replayed.stderr
    compared = json.loads(replayed.stdout)
    # Each of the 32 parts is touched at least twice: it is copied to the device once and read in
    # each step.
    assert compared["requests"]["touches"] >= 2 * 32
    assert [model["name"] for model in compared["models"]] == [
        *("offload:coldest", "offload:size", "offload:next-use", "offload:foreseen")
    ]
    for model in compared["models"]:
        assert model["out_of_memory"] == 0
        assert model["peak_reserved_bytes"] <= 600 << 20
        assert model["offload"]["out_bytes"] >= 400 << 20
        assert 0 < model["offload"]["touches_on_host"] < model["offload"]["touches"]
        assert model["offload"]["read_bytes"] > 400 << 20


def test_without_touches_policies_are_not_compared(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card="h200,memory=2GiB", env=POOL)
    job.assert_well(steps=2)
    refused = job.replay("--models", "offload", "--memory", "600MiB")
    assert refused.returncode == 2
    assert "--offload=explicit,touches" in refused.stderr


def test_host_memory_that_is_too_small_is_not_exceeded(rehearse: Rehearse, python: str) -> None:
    env = OFFLOAD | {"VRAMSTOW_OFFLOAD": "auto,host=64MiB"}
    job = rehearse(python, PROGRAMS / "oversubscribed.py", card=CARD, env=env)
    assert job.status == 1
    assert "torch.OutOfMemoryError" in job.err


LATE_CAPTURE = """
import torch
held = torch.ones(2 << 20, device="cuda")
kept = [torch.full((4 << 20,), i, device="cuda", dtype=torch.uint8) for i in range(60)]
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    for _ in range(40):
        kept.append(held * 2)
"""


def test_a_capture_that_finds_the_card_full_is_named(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    program = tmp_path / "late.py"
    program.write_text(LATE_CAPTURE)
    env = OFFLOAD | {"VRAMSTOW_LEVEL": "tensors"}
    job = rehearse(python, program, card="h200,memory=200MiB", env=env)
    assert job.status == 1
    assert job.analysis()["out_of_memory"][-1]["cause"] == "graph_pools"
    assert "Capture all graphs before the GPU is" in " ".join(job.err.split())


GRAPHS_KEEP = """
import torch
static = [torch.zeros(8 << 20, device="cuda", dtype=torch.uint8) for _ in range(13)]
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for part in static:
        part.add_(1)
other = torch.ones(8 << 20, device="cuda", dtype=torch.uint8)
large = torch.ones(96 << 20, device="cuda", dtype=torch.uint8)
"""
POOL_KEEPS = """
import torch
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    kept = torch.zeros(104 << 20, device="cuda", dtype=torch.uint8)
large = torch.ones(96 << 20, device="cuda", dtype=torch.uint8)
"""


@pytest.mark.parametrize(
    ("text", "cause", "told"),
    [
        (GRAPHS_KEEP, "graph_pools", "Captured graphs keep memory on the GPU"),
        (POOL_KEEPS, "mem_pool", "A MemPool keeps memory on the GPU"),
    ],
    ids=["graphs", "mempool"],
)
def test_memory_that_cannot_move_is_named(
    rehearse: Rehearse, python: str, tmp_path: Path, text: str, cause: str, told: str
) -> None:
    program = tmp_path / "stays.py"
    program.write_text(text)
    env = OFFLOAD | {"VRAMSTOW_LEVEL": "tensors"}
    job = rehearse(python, program, card="h200,memory=256MiB,context=64MiB", env=env)
    assert job.status == 1
    assert job.analysis()["out_of_memory"][-1]["cause"] == cause
    assert told in " ".join(job.err.split())


# Each holds more than its limit, and all of it would fit on the GPU.
FILL = """
import torch
if LIMITED:
    torch.cuda.set_per_process_memory_fraction(0.25)
kept = [torch.full((4 << 20,), i, device="cuda", dtype=torch.uint8) for i in range(100)]
assert all(int(block[5]) == i for i, block in enumerate(kept))
"""


@pytest.mark.parametrize("limit", ["", "150MiB"], ids=["fraction", "option"])
def test_a_limit_that_was_reached_is_named(
    rehearse: Rehearse, python: str, tmp_path: Path, limit: str
) -> None:
    program = tmp_path / "fill.py"
    program.write_text(FILL.replace("LIMITED", str(not limit)))
    env = OFFLOAD | {"VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_LIMIT": limit}
    job = rehearse(python, program, card="h200,memory=1200MiB", env=env)
    assert job.status == 0, job.err[-2000:]
    offload = job.analysis()["offload"]
    assert offload["carries_job"] is True
    allowed, place = (150, f"--limit={limit}") if limit else (300, "fill.py:4 <module>")
    assert (offload["limit_bytes"], offload["limit_place"]) == (allowed << 20, place)
    assert offload["needed_bytes"] < offload["card_bytes"]
    assert f"may hold {allowed} MiB of GPU memory. This limit (" in job.err
    assert "the GPU was full" not in job.err
    assert "The GPU had no free memory" not in job.err


SLEEPING = POOL | {
    "VRAMSTOW_OFFLOAD": "explicit,host=2GiB",
    "VRAMSTOW_CHECK": "1",
    "PYTHONPATH": str(ROOT / "python"),
}
ALL_COMPUTED = "allowance=8GiB"


def test_what_training_needs_sleeps_while_something_else_needs_the_card(
    rehearse: Rehearse, python: str
) -> None:
    program = PROGRAMS / "sleeping.py"
    roomy = f"h200,memory=1GiB,{ALL_COMPUTED}"
    awake = rehearse(python, program, "--sleep=none", card=roomy, env=SLEEPING)
    assert awake.status == 0, awake.err[-4000:]
    # The losses differ from step to step, so the model does learn.
    assert len({line.split()[2] for line in awake.out.splitlines()}) == 3
    for sleep in ("pause", "offload"):
        for left in [
            *awake.traces[0].parent.glob("*.stow"),
            *awake.call_logs[0].parent.glob("*.csv"),
        ]:
            left.unlink()
        tight = f"h200,memory=400MiB,{ALL_COMPUTED}"
        asleep = rehearse(python, program, f"--sleep={sleep}", card=tight, env=SLEEPING)
        assert asleep.status == 0, asleep.err[-4000:]
        asleep.assert_trace_equals_call_log()
        assert asleep.out == awake.out
        offload = asleep.analysis()["offload"]
        assert offload["out_bytes"] == offload["returned_bytes"] > 350 << 20


def test_without_sleep_it_does_not_fit(rehearse: Rehearse, python: str) -> None:
    program = PROGRAMS / "sleeping.py"
    job = rehearse(python, program, "--sleep=none", card="h200,memory=400MiB", env=SLEEPING)
    assert job.status == 1
    assert "torch.OutOfMemoryError" in job.err


def test_what_a_graph_uses_sleeps_where_no_graph_is_launched(
    rehearse: Rehearse, python: str
) -> None:
    env = SLEEPING | {"VRAMSTOW_LEVEL": "tensors"}
    job = rehearse(python, PROGRAMS / "sleeping_graph.py", card=CARD, env=env)
    assert job.status == 0, job.err[-4000:]
    refused = "CUDA error: the operation cannot be performed in the present state"
    (why, *launches) = job.out.splitlines()
    assert why.startswith("pause: a captured graph may use the rest (with graphs=True ")
    assert launches == [refused, refused]
    assert job.err.count("the program launched a CUDA graph while memory") == 1


def test_what_nodes_of_graphs_name_stays(rehearse: Rehearse, python: str) -> None:
    env = SLEEPING | {"VRAMSTOW_LEVEL": "tensors"}
    job = rehearse(python, PROGRAMS / "graph_of_nodes.py", card=CARD, env=env)
    assert job.status == 0, job.err[-4000:]
    (none, *others) = job.out.splitlines()
    assert none == "none: paused"
    assert [line.split(":")[0] for line in others] == [
        *("fill", "copy", "kernel", "any", "changed", "changed instance"),
        *("operations", "any operations", "captured write", "captured wait", "captured operations"),
        "captured decompression",
    ]
    for line in others:
        assert "a captured graph may use the rest" in line
