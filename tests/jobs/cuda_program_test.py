"""Plain CUDA programs: one by nvcc over the shared runtime, one that gets all through dlsym."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, Rehearsal

PROGRAMS = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]


def find_nvcc() -> str | None:
    in_venv = sorted(ROOT.glob(".venv/lib/python3.*/site-packages/nvidia/*/bin/nvcc"))
    return shutil.which("nvcc", path="/usr/local/cuda/bin") or next(map(str, in_venv), None)


def compile_with_nvcc(source: Path, program: Path) -> None:
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("no nvcc: neither a CUDA Toolkit nor nvidia-cuda-nvcc is installed")
    # The shared runtime by its file: -cudart shared wants libcudart.so, which PyPI's packages lack.
    runtime = BUILD / "lib/vramstow/simulator/libcudart.so.13"
    command = [nvcc, "-cudart", "none", source, "-o", program, "-Xlinker", runtime]
    subprocess.run(command, check=True, timeout=300)


def test_a_program_by_nvcc_over_the_shared_runtime(
    rehearse: Rehearse, tmp_path: Path, pool: str
) -> None:
    program = tmp_path / "vector_add"
    compile_with_nvcc(PROGRAMS / "vector_add.cu", program)
    job = rehearse(program)
    assert job.status == 0, job.err
    assert job.out == "done\n"
    job.assert_trace_equals_call_log()
    analysis = job.analysis()
    assert analysis["counts"]["out_of_memory"] == 1
    kinds = analysis["by_kind"]
    for kind in ("device", "device_pitched", "device_stream", "managed", "host_pinned"):
        assert kind in str(kinds), kind
    # Called from the program itself, not from the runtime that passed the call on.
    assert "vector_add" in str(analysis["by_library"])
    assert analysis["counts"]["allocations"] == analysis["counts"]["frees"]


@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_driver_program_that_gets_everything_through_dlsym(
    rehearse: Rehearse, tmp_path: Path, threads: str, pool: str
) -> None:
    program = tmp_path / "driver_by_dlsym"
    source = PROGRAMS / "driver_by_dlsym.c"
    subprocess.run(["gcc", "-O1", "-pthread", source, "-o", program, "-ldl"], check=True)
    job = rehearse(program, threads, "500")
    assert job.status == 0, job.err
    compared = job.assert_trace_equals_call_log()
    blocks = 2 * 500 * int(threads)
    assert compared == blocks if pool == "off" else compared < blocks
    counts = job.analysis()["counts"]
    assert counts["allocations"] + counts["frees"] == blocks
    assert "driver_by_dlsym" in str(job.analysis()["by_library"])
