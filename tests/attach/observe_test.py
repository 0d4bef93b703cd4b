"""vramstow.observe() either observes the process, or leaves it as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, facts_of
from conftest import PATIENCE, Job, plain_environment

MIB = 1 << 20

PROGRAM = """
import os, sys, torch
torch.ones(1, device="cuda")
import vramstow
def observe(trace):
    try:
        return vramstow.observe(trace)
    except vramstow.ObserveError as error:
        print("refused:", error)
folder = sys.argv[1]
observe(folder + "/" + "n" * 300 + ".stow")
rename = os.rename
def refuse(*names):
    raise OSError(28, "No space left on device")
os.rename = refuse
observe(folder + "/theirs.stow")
os.rename = rename
print(os.listdir(folder))
with observe(folder + "/mine.stow"):
    kept = torch.ones(5 << 20, dtype=torch.uint8, device="cuda")
print(os.listdir(folder))
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "traces").mkdir()
    env = {"PYTHONPATH": str(ROOT / "python"), "VRAMSTOW_PROGRAM": str(VRAMSTOW)}
    return Job(tmp_path, "-c", PROGRAM, str(tmp_path / "traces"), env=env)


def test_a_trace_that_cannot_have_its_name_leaves_no_observation(job: Job) -> None:
    assert job.line().startswith("refused: [Errno 36] File name too long")
    assert job.line().startswith("refused: [Errno 28] No space left on device")
    assert job.line() == "[]"
    assert job.line() == "['mine.stow']"
    assert job.process.wait(PATIENCE) == 0
    facts = facts_of(job.folder / "traces/mine.stow")
    assert facts["peak"]["allocated_bytes"] >= 5 << 20


FULL = """
import sys, torch, vramstow
MIB = 1 << 20
def take(mib):
    return torch.ones(mib * MIB, dtype=torch.uint8, device="cuda")
early = take(20)
with vramstow.observe(sys.argv[1]):
    kept = take(30)
    try:
        take(2000)
    except torch.OutOfMemoryError as error:
        print(error)
"""


def test_what_the_gpu_has_left_is_known_at_a_failure(tmp_path: Path) -> None:
    trace = tmp_path / "full.stow"
    env = plain_environment("h200,memory=1GiB") | {
        "PYTHONPATH": str(ROOT / "python"),
        "VRAMSTOW_PROGRAM": str(VRAMSTOW),
    }
    job = Job(tmp_path, "-c", FULL, str(trace), env=env)
    told = re.search(r"of which ([\d.]+) MiB is free", job.line())
    assert told is not None
    assert job.process.wait(PATIENCE) == 0
    [failure] = facts_of(trace)["out_of_memory"]
    assert failure["free_known_from"] == "memory_info"
    assert failure["free_bytes"] == float(told[1]) * MIB
    assert failure["demand"]["lacking_bytes"] == 2000 * MIB - failure["free_bytes"]
    assert failure["demand"]["room_bytes"] == failure["free_bytes"] + 50 * MIB
