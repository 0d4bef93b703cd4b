"""torch.profiler and the mathematical libraries in a simulated run work, or refuse clearly."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, events_of, run_program, run_vramstow
from conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"


def test_the_profiler_sees_kernels_copies_and_memory(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    job = rehearse(python, PROGRAMS / "profiled.py", tmp_path, card="h200,kernel-time=10us")
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("done\n")
    job.assert_trace_equals_call_log()


def test_memory_is_merged_into_the_profile_under_its_operators(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    """Each tensor that the profiled steps allocated is within the operator that allocated it, on
    its thread; tensors of the backward pass are on autograd's own thread."""
    job = rehearse(python, PROGRAMS / "profiled_steps.py", tmp_path / "profile.json", card="h200")
    assert job.status == 0, job.err[-4000:]
    (trace,) = job.traces
    done = run_vramstow("export", trace, "--merge", tmp_path / "profile.json", check=True)
    merged = json.loads(done.stdout)["traceEvents"]
    ours = [event for event in merged if event.get("cat") == "vramstow"]
    slices: dict[object, list[dict[str, Any]]] = {}
    for event in merged:
        if event.get("cat") == "cpu_op":
            slices.setdefault(event["tid"], []).append(event)
    made = [event for event in ours if event["name"].startswith("allocate ")]
    assert len(made) > 20
    for event in made:
        # As in a viewer, an event belongs to the last slice that has begun and not ended.
        around = [s for s in slices[event["tid"]] if s["ts"] <= event["ts"] <= s["ts"] + s["dur"]]
        assert around, event
        assert max(around, key=lambda one: one["ts"])["name"] == event["args"]["operator"]
    operators = {event["args"]["operator"] for event in made}
    assert {"aten::addmm", "aten::mm"} <= operators and len({e["tid"] for e in made}) == 2
    # PyTorch's profiler records the same blocks, at the same times to within a microsecond or a
    # few.
    told = [
        (event["args"]["Addr"], event["ts"])
        for event in merged
        if event["name"] == "[memory]"
        and event["args"]["Device Type"] == 1
        and event["args"]["Bytes"] > 0
    ]
    assert len(told) == len(made)
    theirs = sorted(told, key=lambda one: one[1])
    mine = sorted(((int(e["args"]["address"], 16), e["ts"]) for e in made), key=lambda one: one[1])
    assert [address for address, _ in mine] == [address for address, _ in theirs]
    apart = sorted(abs(a[1] - b[1]) for a, b in zip(mine, theirs, strict=True))
    assert apart[len(apart) // 2] < 1000, apart


HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
told = []
for name in sys.argv[2:]:
    analysis = TraceAnalysis(trace_dir=sys.argv[1], trace_files={0: name})
    idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    told.append([len(analysis.t.get_trace(0)), idle.to_dict("records")])
print(json.dumps(told, default=str))
"""


def test_holistic_trace_analysis_reads_the_merged_profile_as_the_profile(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    if importlib.util.find_spec("hta") is None:
        pytest.skip("needs Holistic Trace Analysis: setup/requirements-hta.txt")
    job = rehearse(python, PROGRAMS / "profiled_steps.py", tmp_path / "a.json", card="h200")
    (trace,) = job.traces
    merge = ["export", trace, "--merge", tmp_path / "a.json", "-o", tmp_path / "b.json"]
    subprocess.run([VRAMSTOW, *merge], check=True, capture_output=True)
    read = run_program(
        sys.executable, "-c", HTA, tmp_path, tmp_path / "a.json", tmp_path / "b.json", check=True
    )
    alone, merged = json.loads(read.stdout.splitlines()[-1])
    assert alone == merged and alone[0] > 100 and alone[1]


def rehearse_with_cupti(rehearse: Rehearse, python: str, *how: str) -> Rehearsal:
    program = PROGRAMS / "with_cupti.py"
    job = rehearse(python, program, *how, card="h200,kernel-time=10us", env={"VRAMSTOW_CUPTI": "1"})
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("done\n")
    job.assert_trace_equals_call_log()
    return job


def events(job: Rehearsal, kind: str) -> list[dict[str, str]]:
    (trace,) = job.traces
    return [row for row in events_of(trace) if row["kind"] == kind]


def test_cupti_kernels_and_memory_are_in_the_trace_joined_to_calls(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse_with_cupti(rehearse, python)
    assert "CUPTI" not in job.err
    told = events(job, "activity")
    kernels = [row for row in told if row["requested"] == "10000" and row["memory"] == "none"]
    copies = [row for row in told if row["size"] == str(4 << 20) and row["memory"] == "none"]
    assert (len(kernels), len(copies)) == (2, 1), told
    # A call has the same number in CUPTI's memory records and in vramstow's events.
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
    assert job.err.count("another tool started to use CUPTI") == 1, job.err
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
    for name in ("inverse fft", "svd", "eigenvalues", "qr"):
        assert f"{name}: right" in job.out
    assert "product of two sparse: refused" in job.out
    refusals = [line for line in job.err.splitlines() if "is not part of the simulated" in line]
    assert refusals, "what is not simulated is named"
    assert len(refusals) == len(set(refusals)), "once"
    job.assert_trace_equals_call_log()
