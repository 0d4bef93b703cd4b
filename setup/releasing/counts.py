"""Counts the tests in the log of a command that ran ctest, pytest, or both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CTEST = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.* *(?:\*\*\*)?(\w+)", re.MULTILINE)
CTEST_FOLDER = re.compile(r"^Test project (.+)$", re.MULTILINE)
SEGMENT = re.compile(r"^\d+/\d+ Test: (\S+)$(.*?)^<end of output>$", re.MULTILINE | re.DOTALL)
PYTEST = re.compile(
    r"^(?:=+ )?(\d+ (?:passed|failed|skipped|error|xfailed|xpassed|deselected).*) in [\d.]+s",
    re.MULTILINE,
)
PYTEST_PART = re.compile(r"(\d+) (passed|failed|skipped|error|xfailed|xpassed)")
GOOGLE_TEST = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) tests?\b", re.MULTILINE)


@dataclass(frozen=True)
class Counts:
    """Numbers of test cases; what a program counts itself is counted case by case."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    @property
    def all(self) -> int:
        return self.passed + self.failed + self.skipped


def said_by_programs(text: str) -> Counts:
    """Returns what summaries of pytest and GoogleTest say; expected failures count as passed."""
    counts = Counts()
    for summary in PYTEST.finditer(text):
        for number, outcome in PYTEST_PART.findall(summary[1]):
            counts += counted(outcome, int(number))
    for outcome, number in GOOGLE_TEST.findall(text):
        counts += counted(outcome.lower(), int(number))
    return counts


def counted(outcome: str, number: int) -> Counts:
    if outcome in ("passed", "xfailed"):
        return Counts(passed=number)
    return Counts(skipped=number) if outcome == "skipped" else Counts(failed=number)


def last_outputs(log: str, begin: float) -> Iterator[tuple[str, str]]:
    """Returns each test with its output, from the logs that ctest wrote since `begin` (seconds
    since 1970)."""
    for folder in dict.fromkeys(CTEST_FOLDER.findall(log)):
        file = Path(folder) / "Testing/Temporary/LastTest.log"
        if file.is_file() and file.stat().st_mtime >= begin - 1:
            for segment in SEGMENT.finditer(file.read_text(errors="replace")):
                yield segment[1], segment[2]


def count(log: str, begin: float) -> Counts:
    """Counts the tests in a log. ctest shows no output of tests that passed, so that its own log
    says how many of their cases were skipped."""
    outcomes = dict(CTEST.findall(log))
    if not outcomes:
        return said_by_programs(log)
    outputs = dict(last_outputs(log, begin))
    counts = Counts()
    for name, outcome in outcomes.items():
        inner = said_by_programs(outputs.get(name, ""))
        if outcome == "Skipped":
            counts += Counts(skipped=1)
        elif outcome == "Passed":
            # A summary inside the output of a test that passed may be that of an expected failure.
            counts += Counts(inner.passed, 0, inner.skipped) if inner.all else Counts(passed=1)
        else:
            counts += Counts(inner.passed, max(1, inner.failed), inner.skipped)
    return counts
