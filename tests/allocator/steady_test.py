"""A training loop under PyTorch makes no memory calls to the driver once its sizes are steady."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program

LOOP = ROOT / "tests/allocator/steady_loop.py"
ITERATIONS = 9

pytest.importorskip("torch")


def calls_in_iterations(kind: str, level: str, folder: Path) -> list[int]:
    """Returns lines of the simulator's call log for each iteration: allocations, chunks and
    mappings."""
    call_log = folder / "call-log.csv"
    result = run_program(
        *(BUILD / "bin/vramstow", "run", "--no-trace", "--pool=on", f"--level={level}"),
        *(f"--simulate=h200,emulation=off,call-log={call_log}", "--"),
        *(sys.executable, LOOP, kind, str(ITERATIONS)),
        timeout=250,
        env={**os.environ, "VRAMSTOW_TEST_CALL_LOG": str(call_log)},
    )
    assert result.returncode == 0, result.stderr[-2000:]
    counts = [int(line.split()[2]) for line in result.stdout.splitlines() if "step" in line]
    assert len(counts) == ITERATIONS, result.stdout
    assert counts[0] > 0, "the call log is empty: nothing was counted"
    return [after - before for before, after in zip([0, *counts], counts, strict=False)]


# A convolutional net has few and large blocks, so the pool needs more iterations until it moves no
# chunks any more.
@pytest.mark.parametrize(
    ("kind", "level", "settles_in"),
    [
        ("transformer", "tensors", 3),
        ("mlp", "tensors", 3),
        ("attention", "tensors", 3),
        ("convnet", "tensors", 7),
        ("transformer", "segments", 3),
    ],
)
def test_a_loop_needs_no_driver_once_it_has_settled(
    kind: str, level: str, settles_in: int, tmp_path: Path
) -> None:
    counts = calls_in_iterations(kind, level, tmp_path)
    assert not any(counts[settles_in:]), counts
