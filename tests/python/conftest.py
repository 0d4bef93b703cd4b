"""Fixtures of the package's tests: Python programs under `vramstow run`, with the package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, Ran, run_program

INSTALLED = os.environ.get("VRAMSTOW_TEST_INSTALLED")
PROGRAMS = Path(__file__).parent / "programs"

pytest_plugins = ["pytester"]


def package_environment() -> dict[str, str]:
    """Returns an environment with the tree's package and this build's program, without variables of
    an outer `vramstow run`.

    With VRAMSTOW_TEST_INSTALLED, it uses the installed package and program.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VRAMSTOW_")}
    if INSTALLED is not None:
        return kept | {"PYTHONPATH": str(PROGRAMS)}
    paths = [str(ROOT / "python"), str(PROGRAMS)]
    return kept | {"PYTHONPATH": ":".join(paths), "VRAMSTOW_PROGRAM": str(VRAMSTOW)}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only in the long run of all tests")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """Runs Python text under vramstow on a simulated GPU, or, with `flags` None, without it."""

    def run(program: str, *flags: str, plain: bool = False, card: str = "h200") -> Ran:
        command = [sys.executable, "-c", program]
        if not plain:
            own = ["run", f"--simulate={card}", "--trace-dir", str(tmp_path), *flags, "--"]
            command = [str(VRAMSTOW), *own, *command]
        return run_program(*command, timeout=120, env=package_environment())

    return run
