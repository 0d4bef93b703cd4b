"""A rehearsal touches what operators, collectives, kernels and graphs use, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from jobs_conftest import VRAMSTOW, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
Range = tuple[int, int]  # address, bytes
PROGRAM = Path(__file__).parent / "programs/use_memory.py"
BEGIN, END, MOST_CASES = 1_000_000, 2_000_000, 1000  # as in PROGRAM
# The middle of a larger tensor lies on a page that it shares with no other.
LEAST_BYTES = 4 << 20


def events(trace: Path) -> Iterable[dict[str, str]]:
    text = subprocess.run(
        [VRAMSTOW, "export", trace, "--to", "csv"], check=True, capture_output=True, text=True
    ).stdout
    return csv.DictReader(io.StringIO(text))


def touches_by_case(trace: Path) -> dict[int, list[int]]:
    """The addresses that were touched while each case ran."""
    found: dict[int, list[int]] = {}
    case: int | None = None
    for event in events(trace):
        requested = int(event["requested"])
        if event["kind"] == "allocate" and 0 <= requested - BEGIN < MOST_CASES:
            case = requested - BEGIN
        elif event["kind"] == "allocate" and 0 <= requested - END < MOST_CASES:
            case = None
        elif event["kind"] == "touch" and case is not None:
            found.setdefault(case, []).append(int(event["address"], 16))
    return found


def lies_in(address: int, where: Range) -> bool:
    return 0 <= address - where[0] < where[1]


def overlap(one: Range, other: Range) -> bool:
    return one[0] < other[0] + other[1] and other[0] < one[0] + one[1]


# With world= the other ranks are absent, and NCCL has no copies of its own in their place.
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
    told = json.loads(job.out.splitlines()[-1])
    touched = touches_by_case(job.traces[0])
    tensors = [tuple(one) for one in told["tensors"] if one[1] >= LEAST_BYTES]
    assert len(told["cases"]) >= 80
    wrong = []
    for name, (number, ranges) in told["cases"].items():
        addresses = touched.get(number, [])
        used = [tuple(one) for one in ranges]
        for one in used:
            if one[1] >= LEAST_BYTES and not any(lies_in(at, one) for at in addresses):
                wrong.append(f"{name}: {one} is not touched")
        for other in tensors:
            if any(overlap(other, one) for one in used):
                continue
            if any(lies_in(at, other) for at in addresses):
                wrong.append(f"{name}: {other} is touched")
    assert not wrong, "\n".join(wrong)
