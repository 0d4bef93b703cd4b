"""vramstow.observe() either observes the process, or leaves it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, facts_of
from conftest import PATIENCE, Job

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
