"""Unmodified frameworks on the vendor's driver library print the same with the preload."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from built import run_program
from conftest import PRELOADED, environment, folder_of
from vendor import CACHE, HERE, Release

PROGRAMS = HERE / "programs"
FRAMEWORKS = CACHE.parent / "frameworks"


@cache
def other_python() -> str | None:
    """Returns a Python that has CuPy and numba, or None if they cannot be installed."""
    python = FRAMEWORKS / "bin/python"
    wanted = (HERE / "requirements.txt").read_text()
    done = FRAMEWORKS / "installed.txt"
    if done.exists() and done.read_text() == wanted:
        return str(python)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", FRAMEWORKS], check=False)
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-compile",
        "-r",
        HERE / "requirements.txt",
    ]
    if made.returncode != 0 or subprocess.run(install, check=False, timeout=900).returncode != 0:
        return None
    done.write_text(wanted)
    return str(python)


def python_for(program: str) -> str:
    if program == "pytorch.py":
        pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
        return sys.executable
    python = other_python()
    if python is None:
        pytest.skip(f"{program}: CuPy and numba cannot be installed here")
    return python


def said(program: str, release: Release, *, preloaded: bool) -> tuple[int, str, list[str]]:
    folder = folder_of(release)
    assert isinstance(folder, Path)
    command = [python_for(program), str(PROGRAMS / program)]
    done = run_program(
        *(PRELOADED + command if preloaded else command),
        env=environment(LD_LIBRARY_PATH=str(folder)),
        timeout=300,
    )
    errors = [line for line in done.stderr.splitlines() if not line.startswith("vramstow: ")]
    # The address of an object differs from run to run.
    return done.returncode, done.stdout, [re.sub("0x[0-9a-f]+", "0x…", line) for line in errors]


@pytest.mark.parametrize("program", ["pytorch.py", "cupy_calls.py", "numba_calls.py"])
def test_the_preload_changes_nothing(release: Release, program: str) -> None:
    plain = said(program, release, preloaded=False)
    assert plain[0] == 0, plain
    assert "Error" in plain[1], "the program found a card"
    assert said(program, release, preloaded=True) == plain
