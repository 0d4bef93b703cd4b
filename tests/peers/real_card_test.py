"""Runs RMM's and CuPy's allocators under the interposer. Both need a real GPU, because the
simulator does not run their kernels. Each is imported in a separate Python that has the public
package."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program, run_vramstow

RMM = """
import rmm
rmm.reinitialize(pool_allocator=True, initial_pool_size=1 << 28)
held = [rmm.DeviceBuffer(size=(1 << 20) + i * 512) for i in range(64)]
held[0].copy_from_host(b"a" * 1024)
assert held[0].copy_to_host()[:1024].tobytes() == b"a" * 1024
del held
rmm.reinitialize(pool_allocator=False)
held = [rmm.DeviceBuffer(size=1 << 20) for _ in range(64)]
print("done")
"""
CUPY = """
import cupy
held = [cupy.arange(1 << 18, dtype=cupy.float32) for _ in range(64)]
assert float(held[3].sum()) == float((1 << 18) * ((1 << 18) - 1) / 2)
del held
cupy.get_default_memory_pool().free_all_blocks()
with cupy.cuda.Stream():
    held = cupy.ones((1 << 20,))
    assert float(held.sum()) == float(1 << 20)
print("done")
"""


def has_card() -> bool:
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


@pytest.mark.parametrize("pool", ["off", "on"])
@pytest.mark.parametrize(("name", "program"), [("RMM", RMM), ("CUPY", CUPY)])
def test_allocates_and_computes(tmp_path: Path, name: str, program: str, pool: str) -> None:
    if not has_card():
        pytest.skip(f"{name}: there is no card here")
    python = os.environ.get(f"VRAMSTOW_PEER_{name}_PYTHON")
    if python is None:
        pytest.skip(f"{name}: VRAMSTOW_PEER_{name}_PYTHON does not name a Python that has it")
    run = [VRAMSTOW, "run", f"--pool={pool}", "--trace-dir", tmp_path, "--"]
    job = run_program(*run, python, "-c", program, timeout=600)
    assert job.returncode == 0, job.stderr[-4000:]
    assert job.stdout == "done\n"
    files = list(tmp_path.glob("*.stow"))
    told = run_vramstow("analyze", "--full", *files, check=True).stdout
    assert "allocations" in told and not told.startswith("0 allocations"), told[-2000:]
