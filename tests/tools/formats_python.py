"""Finds a Python that has the packages of setup/requirements-formats.txt: this one, or the one that
VRAMSTOW_FORMATS_PYTHON names."""

from __future__ import annotations

import os
import sys

import pytest
from built import run_program

FORMATS_PYTHON = os.environ.get("VRAMSTOW_FORMATS_PYTHON", sys.executable)


def need(*modules: str) -> str:
    """Returns the interpreter if it has these modules; otherwise skips the test."""
    found = run_program(FORMATS_PYTHON, "-c", "import " + ", ".join(modules), timeout=120)
    if found.returncode != 0:
        pytest.skip(
            f"{FORMATS_PYTHON} lacks one of {', '.join(modules)}: "
            "pip install -r setup/requirements-formats.txt"
        )
    return FORMATS_PYTHON


def run(code: str, *arguments: object, modules: tuple[str, ...] = ()) -> str:
    """Returns the output of the code in that Python."""
    python = need(*modules) if modules else FORMATS_PYTHON
    result = run_program(python, "-c", code, *map(str, arguments), timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout
