"""Programs and wheels for CUDA 12 run with the simulator's libraries for CUDA 12.

The program needs the headers of CUDA 12, from the PyPI package nvidia-cuda-runtime-cu12 in .venv or
in the folder that VRAMSTOW_CUDA12_INCLUDE names. The jobs need a Python with an older PyTorch, for
example torch==2.9.1 from PyPI: VRAMSTOW_OLDER_PYTHON names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program
from conftest import EXAMPLES, Rehearsal

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def cuda12_headers() -> Path:
    in_venv = ROOT.glob(".venv/lib/python3.*/site-packages/nvidia/cuda_runtime/include")
    named = os.environ.get("VRAMSTOW_CUDA12_INCLUDE")
    folder = Path(named) if named else next(in_venv, None)
    if folder is None:
        pytest.skip("no headers of CUDA 12: VRAMSTOW_CUDA12_INCLUDE is not set (see older_test.py)")
    return folder


@pytest.fixture
def older_python() -> str:
    python = os.environ.get("VRAMSTOW_OLDER_PYTHON")
    if python is None:
        pytest.skip("no older PyTorch: VRAMSTOW_OLDER_PYTHON is not set (see older_test.py)")
    return python


def newer_headers() -> Path:
    """Returns the headers of CUDA 13, for the few that the package of CUDA 12 lacks (crt/)."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    line = next(line for line in cache.splitlines() if line.startswith("CudaHeaders_cublas_v2_h:"))
    return Path(line.partition("=")[2])


def test_a_program_for_cuda_12(rehearse: Rehearse, cuda12_headers: Path, tmp_path: Path) -> None:
    program = tmp_path / "runtime_12"
    runtime = BUILD / "lib/vramstow/simulator/libcudart.so.12"
    headers = ["-isystem", cuda12_headers, "-idirafter", newer_headers()]
    source = PROGRAMS / "runtime_12.cc"
    subprocess.run(["g++", "-std=c++17", *headers, source, runtime, "-o", program], check=True)
    job = rehearse(program)
    assert job.status == 0, job.err
    assert job.out == "done\n"
    job.assert_trace_equals_call_log()


def test_every_name_that_the_older_wheel_wants_is_exported(older_python: str) -> None:
    where = [older_python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    folder = run_program(*where, check=True).stdout.strip()
    check = [sys.executable, ROOT / "tests/libraries/exported_names_test.py"]
    simulator = BUILD / "lib/vramstow/simulator"
    found = run_program(*check, simulator, folder)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("example", ["mlp", "convnet", "transformer", "attention", "lstm"])
def test_an_older_wheel_runs_the_examples(
    rehearse: Rehearse, older_python: str, example: str
) -> None:
    job = rehearse(older_python, EXAMPLES / f"{example}.py")
    assert job.status == 0, job.err[-4000:]
    job.assert_trace_equals_call_log()
    assert job.analysis()["peak"]["allocated_bytes"] > 0


def test_an_older_wheel_trains_with_two_ranks(rehearse: Rehearse, older_python: str) -> None:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    job = rehearse(
        older_python, *torchrun, PROGRAMS / "distributed.py", "nccl", card="h200,count=2"
    )
    assert job.status == 0, job.err[-4000:]
    assert sorted(job.out.split("\n"))[-2:] == ["rank 0: done", "rank 1: done"]
    job.assert_trace_equals_call_log()
