"""Runs numba-cuda's own driver tests on the simulated GPU: the failing ones are listed with
reasons.

It runs if VRAMSTOW_NUMBA_PYTHON names a Python with numba-cuda[cu13], filecheck and pytest. numba
links with nvJitLink, a separate package, if it is installed (the extra cu13 requires it), and
otherwise with the driver. The test covers the variant of the given Python: nvJitLink's cubins do
not run on the simulated GPU, the PTX that the driver gets does.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from built import run_program
from modes import HERE, MODES, assert_seen, environment, with_path

# The GPU is small, because a test fills more managed memory than the GPU has, and that is memory of
# this machine.
CARD = "h200,memory=2GiB"
SUITE = "numba.cuda.tests.cudadrv"
PYTHON = os.environ.get("VRAMSTOW_NUMBA_PYTHON")

pytestmark = pytest.mark.skipif(
    PYTHON is None, reason="VRAMSTOW_NUMBA_PYTHON does not name a Python with numba-cuda"
)


def run_suite(folder: Path, mode: str) -> dict[str, str]:
    """Returns the outcome of every test by its name: passed, failed or skipped."""
    folder.mkdir()
    outcomes = folder / "outcomes"
    options = ["-q", "-p", "no:cacheprovider", "-p", "numba_cuda_plugin", "--tb=line"]
    options += ["--import-mode=importlib", "--outcomes", str(outcomes), "--pyargs", SUITE]
    result = run_program(
        *(PYTHON, "-m", "pytest", *options),
        cwd=folder,
        env=with_path(environment(CARD, mode, folder), HERE),
        timeout=800,
    )
    assert outcomes.exists(), result.stdout[-2000:] + result.stderr[-2000:]
    assert_seen(mode, folder)
    pairs = (line.split(" ", 1) for line in outcomes.read_text().splitlines())
    return {name: outcome for outcome, name in pairs}


def has_nvjitlink() -> bool:
    question = "from numba.cuda.cudadrv import driver; print(driver._have_nvjitlink())"
    run = run_program(PYTHON, "-c", question, check=True)
    return run.stdout.strip() == "True"


def expected_failures() -> list[str]:
    name = "numba_cuda" if has_nvjitlink() else "numba_cuda_driver_linked"
    lines = (HERE / f"{name}_expected.txt").read_text().splitlines()
    return sorted(line for line in lines if line and not line.startswith("#"))


def test_what_fails_is_known_and_the_interposer_changes_nothing(tmp_path: Path) -> None:
    runs = {mode: run_suite(tmp_path / mode, mode) for mode in MODES}
    traced = runs["traced"]
    for mode, run in runs.items():
        assert run == traced, mode
    failed = sorted(name for name, outcome in traced.items() if outcome == "failed")
    assert failed == expected_failures()
    assert Counter(traced.values())["passed"] >= 216
