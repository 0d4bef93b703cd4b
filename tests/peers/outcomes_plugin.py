"""A pytest plug-in for suites of other projects, which writes the outcome of each test.

PYTHONPATH=tests/peers python -m pytest -p outcomes_plugin --outcomes FILE TESTS

A line of FILE is "passed NAME", "failed NAME" or "skipped NAME". It is written at once, so that a
suite which ends its own process leaves the outcomes until then.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_outcomes: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", type=Path, help="the file for how each test went")


def outcome_of(report: pytest.TestReport) -> str | None:
    """Returns the outcome of a test from one of its parts, or None if that part does not decide it.
    A part that fails makes the test fail."""
    if report.failed or report.outcome == "rerun":
        return "failed" if report.failed else None
    return report.outcome if report.skipped or report.when == "call" else None


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # Record only this process's tests: a test's child processes may run pytest, too.
    outcome = outcome_of(report)
    if outcome is not None and _outcomes.get(report.nodeid) != "failed":
        _outcomes[report.nodeid] = outcome


def pytest_runtest_logfinish(nodeid: str, location: object) -> None:
    write()


def pytest_sessionfinish(session: pytest.Session) -> None:
    _outcomes.setdefault("the session", "passed" if session.exitstatus in (0, 1) else "failed")
    write()


def pytest_configure(config: pytest.Config) -> None:
    global _file
    _file = config.getoption("--outcomes")


_file: Path | None = None


def write() -> None:
    if _file is not None:
        lines = (f"{outcome} {name}\n" for name, outcome in sorted(_outcomes.items()))
        _file.write_text("".join(lines))
