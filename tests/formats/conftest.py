"""Fixtures of the tests of whole snapshot files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from built import BUILD, Ran, run_program

TOOL = BUILD / "tests/snapshot_tool"


@pytest.fixture
def tool() -> Callable[..., Ran]:
    """Runs snapshot_tool, which must exit by itself and not by a signal for every file."""

    def run(*arguments: object) -> Ran:
        result = run_program(TOOL, *map(str, arguments), timeout=60)
        assert result.returncode in (0, 2), result
        return result

    return run


@pytest.fixture
def summary(tool: Callable[..., Ran]) -> Callable[[Path], dict]:
    def run(path: Path) -> dict:
        result = tool("summary", path)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run


@pytest.fixture
def refused(tool: Callable[..., Ran]) -> Callable[[Path], str]:
    """Returns the sentence with which a file is refused."""

    def run(path: Path) -> str:
        result = tool("summary", path)
        assert result.returncode == 2
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        return result.stderr

    return run
