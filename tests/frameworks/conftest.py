"""Makes kinds.py importable, and knows the mark of the long suite."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: jobs that need packages beside PyTorch")
