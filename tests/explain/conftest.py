"""Makes expected.py importable, and defines the mark of the long suite."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: all jobs, and their mended twins")
