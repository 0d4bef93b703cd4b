"""torch.profiler and the mathematical libraries in a rehearsal: they work, or refuse clearly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
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
    job.assert_trace_equals_ledger()


def test_mathematics_is_right_or_refused(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "library_maths.py")
    assert job.status == 0, job.err[-4000:]
    assert job.out.endswith("all done\n")
    assert "inverse fft: right" in job.out
    refusals = [line for line in job.err.splitlines() if "is not part of the simulated" in line]
    assert refusals, "what is not simulated is named"
    assert len(refusals) == len(set(refusals)), "once"
    job.assert_trace_equals_ledger()
