"""Makes kinds.py importable, and defines the marks of the long suite and of clients."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: jobs that need packages beside PyTorch")
    config.addinivalue_line("markers", "client: needs an environment that tests/clients.py makes")
