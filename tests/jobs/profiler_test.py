"""torch.profiler and the mathematical libraries in a rehearsal: they work, or refuse clearly."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import VRAMSTOW, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"


def test_the_profiler_sees_kernels_copies_and_memory(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    job = rehearse(python, PROGRAMS / "profiled.py", tmp_path, card="h200,kernel-time=10us")
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("done\n")
    job.assert_trace_equals_ledger()


def rehearse_with_cupti(rehearse: Rehearse, python: str, *how: str) -> Rehearsal:
    program = PROGRAMS / "with_cupti.py"
    job = rehearse(python, program, *how, card="h200,kernel-time=10us", env={"VRAMSTOW_CUPTI": "1"})
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("done\n")
    job.assert_trace_equals_ledger()
    return job


def events(job: Rehearsal, kind: str) -> list[dict[str, str]]:
    (trace,) = job.traces
    listing = subprocess.run(
        [VRAMSTOW, "export", trace, "--to", "csv"], check=True, capture_output=True, text=True
    )
    return [row for row in csv.DictReader(listing.stdout.splitlines()) if row["kind"] == kind]


def test_cupti_kernels_and_memory_are_in_the_trace_joined_to_calls(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse_with_cupti(rehearse, python)
    assert "CUPTI" not in job.err
    told = events(job, "activity")
    kernels = [row for row in told if row["requested"] == "10000" and row["memory"] == "none"]
    copies = [row for row in told if row["size"] == str(4 << 20) and row["memory"] == "none"]
    assert (len(kernels), len(copies)) == (2, 1), told
    # CUPTI's view of memory, and ours, have the same number of the call in common.
    calls = {row["size"]: row["object"] for row in events(job, "correlation")}
    ours = {row["sequence"]: row for row in events(job, "allocate") + events(job, "free")}
    theirs = [row for row in told if row["memory"] == "device"]
    assert len(theirs) == 2, told
    for row in theirs:
        sequence = str(int(calls[row["requested"]], 0))
        assert ours[sequence]["address"] == row["address"], (row, ours)


@pytest.mark.parametrize("how", [("work", "profiler"), ("profiler",)])
def test_cupti_is_given_to_a_profiler_that_comes(
    rehearse: Rehearse, python: str, how: tuple[str, ...]
) -> None:
    job = rehearse_with_cupti(rehearse, python, *how)
    assert "kernels and copies seen: 3\n" in job.out
    assert job.err.count("another tool uses CUPTI from here on") == 1, job.err
    told = events(job, "activity")
    assert bool(told) == ("work" in how), "what was before it came is in the trace"


def test_cupti_is_left_to_a_client_that_is_there(rehearse: Rehearse, python: str) -> None:
    job = rehearse_with_cupti(rehearse, python, "other")
    assert job.err.count("another tool uses CUPTI: ") == 1, job.err
    assert not events(job, "activity")


def test_mathematics_is_right_or_refused(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "library_maths.py")
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("all done\n")
    assert "inverse fft: right" in job.out
    refusals = [line for line in job.err.splitlines() if "is not part of the simulated" in line]
    assert refusals, "what is not simulated is named"
    assert len(refusals) == len(set(refusals)), "once"
    job.assert_trace_equals_ledger()
