"""Makes the runner of the techniques importable, and defines the mark of long tests."""

from __future__ import annotations

import sys

import pytest
from built import ROOT

sys.path.insert(0, str(ROOT / "examples/measure"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only in the long run")
