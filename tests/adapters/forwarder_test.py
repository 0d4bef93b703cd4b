"""The default run passes each call on to PyTorch's own allocator: all of its functions work as
before, and the trace has the events of PyTorch's own history."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import events_of
from jobs_conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
PACKAGE = Path(__file__).resolve().parents[2] / "python"
KINDS = {"alloc": "allocate", "free_requested": "free", "free_completed": "free_completed"}
NATIVE = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}
Rehearse = Callable[..., Rehearsal]


@pytest.fixture(scope="session")
def observed(observed: dict[str, str]) -> dict[str, str]:
    """Returns the settings that observe tensors, and finds the package of vramstow."""
    return observed | {"PYTHONPATH": str(PACKAGE)}


def tensor_events(trace: Path) -> list[list[object]]:
    return [
        [row["kind"], int(row["address"], 16), int(row["requested"]), int(row["stream"], 16)]
        for row in events_of(trace)
        if row["call"] == "tensor" and row["result"] == "0"
    ]


def assert_observed(job: Rehearsal) -> None:
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]


def failing_line(job: Rehearsal) -> str:
    """Returns the statement of the program that raised the exception."""
    lines = job.err.partition("vramstow: ")[0].splitlines()
    statements = [after for before, after in itertools.pairwise(lines) if ", line " in before]
    return statements[-1].strip() if statements else ""


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "expandable_segments:True",
        pytest.param("roundup_power2_divisions:[1:1,256:4,>:8]", marks=pytest.mark.long),
        pytest.param("max_split_size_mb:21", marks=pytest.mark.long),
    ],
)
def test_every_function_works_and_the_trace_has_pytorchs_own_events(
    rehearse: Rehearse, python: str, tmp_path: Path, observed: dict[str, str], settings: str
) -> None:
    target = tmp_path / "entries.json"
    conf = {"PYTORCH_CUDA_ALLOC_CONF": settings}
    job = rehearse(python, OWN / "forwarded.py", target, env=observed | conf)
    assert_observed(job)
    assert job.out == "all is as it should be\n"
    told = [[KINDS[kind], *rest] for kind, *rest in json.loads(target.read_text())]
    assert len(told) > 60
    (trace,) = job.traces
    assert tensor_events(trace)[: len(told)] == told
    job.assert_trace_equals_call_log()


@pytest.mark.long
def test_graphs_and_their_private_pools_work(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    card = "h200,memory=8GiB"
    job = rehearse(python, OWN / "graphs.py", env=observed, card=card)
    assert_observed(job)
    assert job.out == rehearse(python, OWN / "graphs.py", env=NATIVE, card=card).out


@pytest.fixture
def own_allocator(tmp_path: Path) -> Path:
    library = tmp_path / "own.so"
    subprocess.run(["c++", "-shared", "-fPIC", "-o", library, OWN / "own_allocator.cc"], check=True)
    return library


@pytest.mark.long
def test_pools_with_an_allocator_of_the_programs_own_work(
    rehearse: Rehearse, python: str, observed: dict[str, str], own_allocator: Path
) -> None:
    job = rehearse(python, OWN / "own_allocator.py", own_allocator, env=observed)
    native = rehearse(python, OWN / "own_allocator.py", own_allocator, env=NATIVE)
    if native.status != 0:  # an older PyTorch keeps fewer of these guarantees
        assert failing_line(job) == failing_line(native)
        pytest.skip(f"this release fails alone: {failing_line(native)}")
    assert_observed(job)
    assert job.out.splitlines()[-1] == "all is as it should be"


CHANGES = """
import sys, torch
own = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "own_give", "own_take_back")
if "early" in sys.argv:
    torch.cuda.memory.change_current_allocator(own)
    print(torch.ones(3, device="cuda").tolist(), torch.cuda.get_allocator_backend())
else:
    torch.ones(3, device="cuda")
    try:
        torch.cuda.memory.change_current_allocator(own)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_another_allocator_of_the_program_is_accepted_as_without_vramstow(
    rehearse: Rehearse, python: str, observed: dict[str, str], own_allocator: Path, when: str
) -> None:
    jobs = [
        rehearse(python, "-c", CHANGES, own_allocator, when, env=observed | level)
        for level in ({}, {"VRAMSTOW_LEVEL": "segments"})
    ]
    assert [job.status for job in jobs] == [0, 0], jobs[0].err[-4000:]
    assert jobs[0].out == jobs[1].out != ""
    assert ("another allocator is chosen" in jobs[0].err) == (when == "early"), jobs[0].err
    expected = "pluggable" if when == "early" else "initialized allocator"
    assert expected in jobs[0].out


@pytest.mark.long
def test_tensors_are_shared_between_processes(
    rehearse: Rehearse, python: str, observed: dict[str, str], tmp_path: Path
) -> None:
    control = {"VRAMSTOW_CONTROL_DIR": str(tmp_path)}
    job = rehearse(python, PROGRAMS / "share_tensors.py", env=observed | control)
    assert_observed(job)
    assert "written there [0.0, 1.0, 2.0, 3.0]" in job.out
    assert "sum here 7000.0" in job.out
    assert "exit 0" in job.out


# The observer is not loaded by the hook, but by the program, when it has a tensor already.
LATE = f"""
import ctypes, os, subprocess, sys
sys.path.insert(0, {str(OWN)!r})
import torch
from forwarded import library_of_allocator
early = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
observer = ctypes.CDLL(sys.argv[1])
observer.vramstow_torch_observe.restype = ctypes.c_char_p
print(observer.vramstow_torch_observe(), library_of_allocator())
late = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
del early
"""


def test_an_allocator_that_has_memory_already_is_not_replaced(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    compiles = rehearse(python, "-c", "import torch; torch.ones(1, device='cuda')", env=observed)
    assert_observed(compiles)
    compiles.traces[0].unlink()
    observers = Path(observed["VRAMSTOW_ADAPTER_DIR"]).glob("torch-observer-*.so")
    observer = max(
        observers, key=lambda path: path.stat().st_mtime
    )  # the folder may have older ones
    env = observed | {"VRAMSTOW_LEVEL": "segments"}
    job = rehearse(python, "-c", LATE, observer, env=env)
    assert (job.status, job.out) == (0, "None libc10_cuda.so\n"), job.err[-4000:]
    (trace,) = job.traces
    events = tensor_events(trace)
    freed = ["free", "free_completed"]
    assert [event[0] for event in events if event[2] == 5 << 20] == ["allocate", *freed]
    assert [event[0] for event in events if event[2] == 3 << 20] == freed
