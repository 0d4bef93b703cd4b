"""Fixtures of the adapters' tests: simulated runs as in the jobs' tests, at a chosen level."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Without this setting each suite would compile a census (a reference scan) while its tests run,
# because its folder is fresh. The tests of the census set this variable themselves.
os.environ.setdefault("VRAMSTOW_CENSUS", "off")

JOBS = Path(__file__).resolve().parents[1] / "jobs"
sys.path.insert(0, str(JOBS))
_spec = importlib.util.spec_from_file_location("jobs_conftest", JOBS / "conftest.py")
assert _spec is not None and _spec.loader is not None
_jobs = importlib.util.module_from_spec(_spec)
sys.modules["jobs_conftest"] = _jobs
_spec.loader.exec_module(_jobs)

rehearse = _jobs.rehearse
python = _jobs.python


@pytest.fixture(scope="session")
def adapter_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the folder of compiled adapters, one of each kind for all tests."""
    return os.environ.get("VRAMSTOW_ADAPTER_DIR") or str(tmp_path_factory.mktemp("adapters"))


@pytest.fixture
def lines_can_be_read(python: str) -> None:
    """Skips the test with a Python whose source lines cannot be read
    (tracer/capture/python_runtime.h)."""
    ask = "import sys; print(sys.version_info >= (3, 10))"
    if subprocess.run([python, "-c", ask], check=True, capture_output=True).stdout != b"True\n":
        pytest.skip("source lines of Python 3.9 cannot be read")


@pytest.fixture(scope="session")
def observed(adapter_folder: str) -> dict[str, str]:
    """Returns settings that observe tensors, with one compiled observer for all tests."""
    return {
        "VRAMSTOW_POOL": "off",
        "VRAMSTOW_LEVEL": "tensors",
        "VRAMSTOW_ADAPTER_DIR": adapter_folder,
    }


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only in the long run of all tests")
