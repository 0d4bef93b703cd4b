"""A Python that has the packages of setup/requirements-formats.txt: this one, or the one that
VRAMSTOW_FORMATS_PYTHON names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORMATS_PYTHON = os.environ.get("VRAMSTOW_FORMATS_PYTHON", sys.executable)


def need(*modules: str) -> str:
    """The interpreter, where it has these modules; else the test says that it skips."""
    found = subprocess.run(
        [FORMATS_PYTHON, "-c", "import " + ", ".join(modules)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if found.returncode != 0:
        pytest.skip(
            f"{FORMATS_PYTHON} lacks one of {', '.join(modules)}: "
            "pip install -r setup/requirements-formats.txt"
        )
    return FORMATS_PYTHON


def run(code: str, *arguments: object, modules: tuple[str, ...] = ()) -> str:
    """The output of the code there."""
    python = need(*modules) if modules else FORMATS_PYTHON
    result = subprocess.run(
        [python, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
