"""A pytest plug-in for the driver tests that the numba-cuda wheel brings. Writes how each one went.

PYTHONPATH=tests/peers python -m pytest -p numba_cuda_plugin --import-mode=importlib \
    --outcomes FILE --pyargs numba.cuda.tests.cudadrv

Run by a Python that has numba-cuda, filecheck and pytest. A line of FILE is "passed NAME",
"failed NAME" or "skipped NAME".
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

SUITE = "numba.cuda.tests.cudadrv"
_outcomes: dict[str, str] = {}


class WheelModule(pytest.Module):
    """A test module, imported by its real name, because its child processes must find it, too."""

    def _getobj(self) -> ModuleType:
        return importlib.import_module(f"{SUITE}.{self.path.stem}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", type=Path, help="the file for how each test went")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return WheelModule.from_parent(parent, path=module_path)


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """A fixture of numba's test classes, which is in numba's repository but not in its wheel."""
    request.cls._dump_failed_filechecks = False


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid.rpartition("/")[2]
    if report.failed or _outcomes.get(name) == "failed":
        _outcomes[name] = "failed"
    elif report.skipped or report.when == "call":
        _outcomes[name] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    if path := session.config.getoption("--outcomes"):
        lines = (f"{outcome} {name}\n" for name, outcome in sorted(_outcomes.items()))
        path.write_text("".join(lines))
