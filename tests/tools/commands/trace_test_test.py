"""Tests vramstow_add_trace_test(): a CMake project checks its programs' device memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, Ran, run_program

# Allocates 48 MiB through the driver, and accepts an argument that contains a space.
JOB = """
import ctypes, sys
assert sys.argv[1] == "two words"
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(48 << 20)) == 0
sys.exit(int(sys.argv[2]))
"""


def project(folder: Path, arguments: str, status: int = 0) -> Ran:
    """Configures a project with one such test, and runs it."""
    (folder / "job.py").write_text(JOB)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user NONE)\nenable_testing()\n"
        f'list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")\ninclude(VramstowTraceTest)\n'
        f"vramstow_add_trace_test(NAME memory COMMAND {sys.executable} ${{CMAKE_SOURCE_DIR}}/job.py"
        f' "two words" {status} SIMULATE h200 {arguments})\n'
    )
    configured = run_program(
        "cmake", "-S", folder, "-B", folder / "build", f"-DVRAMSTOW_PROGRAM={VRAMSTOW}", timeout=60
    )
    if configured.returncode != 0:
        return configured
    return run_program("ctest", "--test-dir", folder / "build", "--output-on-failure", timeout=120)


def test_a_program_that_keeps_to_its_memory_passes(tmp_path: Path) -> None:
    result = project(tmp_path, 'ASSERT "peak_reserved <= 64MiB" "out_of_memory == 0" LABELS memory')
    assert result.returncode == 0, result.stdout + result.stderr


def test_one_that_takes_more_fails_and_is_told_why(tmp_path: Path) -> None:
    result = project(tmp_path, 'ASSERT "peak_reserved <= 40MiB"')
    assert result.returncode != 0
    assert "48.0 MiB" in result.stdout and "peak_reserved" in result.stdout


def test_one_that_fails_itself_fails(tmp_path: Path) -> None:
    result = project(tmp_path, 'ASSERT "peak_reserved <= 64MiB"', status=3)
    assert result.returncode != 0
    assert "The command failed: 3" in result.stdout


def example(folder: Path, **environment: str) -> Ran:
    """Builds examples/memory_test once for all tests of this file, and runs it."""
    build = folder / "memory_test"
    source = ROOT / "examples/memory_test"
    for command in (
        ["cmake", "-S", source, "-B", build, f"-DVRAMSTOW_PROGRAM={VRAMSTOW}"],
        ["cmake", "--build", build],
    ):
        made = run_program(*command, timeout=170)
        assert made.returncode == 0, made.stdout + made.stderr
    return run_program(
        *("ctest", "--test-dir", build, "--output-on-failure"),
        timeout=120,
        env=os.environ | environment,
    )


def test_the_example_with_a_fixture_passes_and_a_leak_in_a_body_fails(tmp_path: Path) -> None:
    result = example(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    leaking = example(tmp_path, VRAMSTOW_EXAMPLE_LEAK="1")
    assert leaking.returncode != 0
    assert "KeeperTest.LeavesNothingBehind" in leaking.stdout
    assert "live_at_end" in leaking.stdout and "8.00 MiB" in leaking.stdout
    # Only the test whose body leaks fails.
    assert "[       OK ] KeeperTest.TakesNoMoreThanIsInUseAtOnce" in leaking.stdout
    # When it runs without vramstow, the program says that memory is not recorded.
    alone = run_program(tmp_path / "memory_test/memory_test", timeout=60)
    assert alone.returncode == 0
    assert "vramstow run" in alone.stdout and "2 tests" in alone.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"), [("", "needs ASSERT or BASELINE"), ("ASSERT x MEMORY 3", "")]
)
def test_a_test_without_a_test_is_refused(tmp_path: Path, arguments: str, sentence: str) -> None:
    result = project(tmp_path, arguments)
    assert result.returncode != 0
    assert sentence in result.stderr
