"""Writes a table on a page from the results of runs: one row for each tested item, and below it the
failures. Rows of items that were not run again are unchanged."""

from __future__ import annotations

import re
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

END = "<!-- end -->"
# Folders that exist only on the machine that ran the tests.
OWN_FOLDERS = re.compile(
    rf"{re.escape(str(Path(__file__).resolve().parents[1]))}/|/[\w./-]*/pytest-\d+/"
    rf"|{re.escape(str(Path.home()))}/"
)
NOT_RUN = ""
WIDTH = 138  # columns of a page

Key = tuple[str, ...]


@dataclass
class Outcome:
    cell: str
    failures: list[str]  # tests that failed or were skipped, with the first line of the reason


def outcome_of(report: Path, part: str = "") -> Outcome:
    """Returns the results in pytest's XML report, of the tests whose names contain `part`."""
    passed = failed = 0
    failures = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if part not in case.get("name", ""):
            continue
        bad = next((one for one in case if one.tag in ("failure", "error")), None)
        skipped = case.find("skipped")
        if bad is not None or skipped is not None:
            said = bad if bad is not None else skipped
            message = (said.get("message") or "").strip().partition("\n")[0]
            reason = OWN_FOLDERS.sub("", message)[:200]
            word = "failed" if bad is not None else "skipped"
            failures.append(f"{case.get('name')} {word}: {reason}")
        failed += bad is not None
        passed += bad is None and skipped is None
    return Outcome(f"{passed} of {passed + failed}", failures)


class MadeTable:
    """`begin`: the line of the page above the table; `END` is below it. The first cells of a row
    are its key; `between` joins them in the list of failures."""

    def __init__(
        self,
        text: str,
        begin: str,
        headings: Key,
        *,
        keys: int,
        between: str,
        order: Callable[[Key], object],
    ) -> None:
        self._begin, self._headings, self._between, self._order = begin, headings, between, order
        self._before, found, made = text.partition(begin)
        made, end, self._after = made.partition(END)
        if not found or not end:
            raise ValueError(f"the page has no lines {begin} and {END}")
        self._rows: dict[Key, dict[str, str]] = {}
        self._failures: dict[Key, list[str]] = {}
        told: list[str] = []
        written = headings  # the page's headings, which may lack new columns
        for line in made.splitlines():
            cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
            if line.startswith("| ") and cells[:keys] == headings[:keys]:
                written = cells
            elif line.startswith("| ") and len(cells) == len(written):
                row = dict.fromkeys(headings, NOT_RUN) | dict(zip(written, cells, strict=True))
                self._rows[cells[:keys]] = row
            failure = re.match(r"- ([^,]+), (.*)", line)
            if failure:
                told = self._failures.setdefault(tuple(failure[1].split(between)), [])
                told.append(failure[2])
            elif line.startswith("  "):  # the rest of a failure
                told[-1] += f" {line.strip()}"

    def put(self, key: Key, outcomes: dict[str, Outcome], **cells: str) -> None:
        """Writes a row. `outcomes`: results by column heading. `cells`: the other columns."""
        row = dict.fromkeys(self._headings, NOT_RUN) | self._rows.get(key, {})
        row |= dict(zip(self._headings, key, strict=False)) | cells
        told = self._failures.get(key, [])
        for heading, outcome in outcomes.items():
            row[heading] = outcome.cell
            told = [text for text in told if not text.startswith(f"{heading}: ")]
            told += [f"{heading}: {text}" for text in outcome.failures]
        self._rows[key] = row
        self._failures[key] = told

    def text(self) -> str:
        lines = [f"| {' | '.join(self._headings)} |", f"|{'---|' * len(self._headings)}"]
        order = sorted(self._rows, key=self._order)
        lines += [f"| {' | '.join(self._rows[key].values())} |" for key in order]
        told = [
            line
            for key in order
            for failure in self._failures.get(key, [])
            for line in textwrap.wrap(
                f"- {self._between.join(key)}, {failure}",
                WIDTH,
                subsequent_indent="  ",
                break_on_hyphens=False,  # the next run would read a blank at the break
            )
        ]
        lines += [
            "",
            "These did not pass, or were not run:" if told else "All that ran passed.",
            "",
            *told,
        ]
        made = "\n".join(lines).rstrip()
        return f"{self._before}{self._begin}\n\n{made}\n\n{END}{self._after}"
