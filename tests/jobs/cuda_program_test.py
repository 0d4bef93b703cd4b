"""Plain CUDA programs: one by nvcc with the shared runtime, one that finds all by dlsym."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import BUILD, ROOT, VRAMSTOW, run_program
from conftest import Rehearsal

PROGRAMS = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]


def find_nvcc() -> str | None:
    in_venv = sorted(ROOT.glob(".venv/lib/python3.*/site-packages/nvidia/*/bin/nvcc"))
    return shutil.which("nvcc", path="/usr/local/cuda/bin") or next(map(str, in_venv), None)


def compile_with_nvcc(source: Path, program: Path) -> None:
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("no nvcc: neither a CUDA Toolkit nor nvidia-cuda-nvcc is installed")
    # The shared runtime is named by its file, because `-cudart shared` needs libcudart.so, which
    # PyPI's packages do not have.
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
    # The caller of an allocation is the program, and not the CUDA runtime that calls the driver for
    # it.
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


def test_a_run_keeps_the_names_of_native_functions_in_its_trace(tmp_path: Path) -> None:
    program = tmp_path / "driver_by_dlsym"
    source = PROGRAMS / "driver_by_dlsym.c"
    build = ["gcc", "-O1", "-g", "-pthread", source, "-o", program, "-ldl"]
    subprocess.run(build, check=True)
    flags = ("--simulate=h200", "--stacks=all", f"--trace-dir={tmp_path}")
    run = [VRAMSTOW, "run", *flags, "--", program, "1", "20"]
    ran = run_program(*run)
    assert ran.returncode == 0, ran.stderr
    (trace,) = tmp_path.glob("*.stow")
    numbers = [
        int.from_bytes(rest[8:12], "little")  # after the id of the trace
        for rest in trace.read_bytes().split(b"\xa5STOWCKZ")[1:]
    ]
    assert 0xF0000000 in numbers, "a chunk of functions (docs/trace-format.md)"
    read = [VRAMSTOW, "analyze", "--json", trace]
    analysis = json.loads(run_program(*read, check=True).stdout)
    assert analysis["input"]["complete"]
    assert analysis["counts"]["allocations"] == 20


ONE_BLOCK = """
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
device, context, block = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_ulonglong()
assert cuda.cuInit(0) == 0
assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20)) == 0
"""


def test_a_trace_for_which_too_many_files_are_open_names_the_limit(tmp_path: Path) -> None:
    ran = run_program(
        *(VRAMSTOW, "run", "--simulate=h200", f"--trace-dir={tmp_path}"),
        *("--", "sh", "-c", 'ulimit -n 8; exec "$@"', "sh", sys.executable, "-c", ONE_BLOCK),
    )
    assert ran.returncode == 0, ran.stderr
    assert "(Too many open files): raise the limit on open files (ulimit -n)." in ran.stderr
    assert "or a process said above why it writes none" in ran.stderr
    assert list(tmp_path.glob("*.stow")) == []
