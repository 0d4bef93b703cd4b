"""Writes docs/release.md: what was seen of one commit, and what was not."""

from __future__ import annotations

import html

from ledger import BEGUN, ENDED, INTERRUPTED, Earlier, Record
from pieces import Piece

MARK = "<!-- written by setup/release --page -->"
HEADINGS = ("piece", "what it shows", "command", "when (UTC)", "how long", "machine", "result")
NOT_RUN = "not run on this commit"
INTRODUCTION = """# What was run for a release

{mark}

This page is about the commit `{commit}`:
the commit that adds this page comes after it. When a piece ran, no file had changed but the pages
that pieces write; `setup/release` recorded what it saw, and `setup/release --page` wrote this page
from the record. Only a result that begins with *passed* is a good one for this commit. Where a
piece did not run on it, its row shows the last result of the history, and how many commits came
since: it speaks of the commit that it names. A skipped test has shown nothing, usually because the
machine lacks something; the piece's log says what.

{summary}

In the commands `{{folder}}` is a folder for the results of the commit, `{{temporary}}` one that is
removed at the end of the piece, and `{{before}}` the tree of the last release.
"""


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def result_of(record: Record | None) -> str:
    """Returns the words for the last run of a piece."""
    if record is None:
        return NOT_RUN
    if record.state == BEGUN:
        return "it runs, or was killed, so that nothing is known"
    if record.state == INTERRUPTED:
        return "interrupted, so that nothing is known"
    skipped = f"; {record.skipped:,} skipped" if record.skipped else ""
    if record.is_green:
        again = f"; {record.failed:,} failed at first" if record.failed else ""
        tests = f": {plural(record.passed, 'test')}" if record.passed else ""
        return f"passed{tests}{again}{skipped}"
    if record.status == 0:
        return f"nothing shown: no test passed{skipped}"
    tests = f": {record.failed:,} of {plural(record.counted, 'test')}" if record.failed else ""
    return f"failed with status {record.status}{tests}{skipped}"


def state_of(record: Record | None, earlier: Earlier | None) -> str:
    """Returns the words for the last run of a piece, on the commit or before it."""
    if record is not None or earlier is None:
        return result_of(record)
    commits = "one commit" if earlier.distance == 1 else f"{earlier.distance:,} commits"
    return (
        f"{NOT_RUN}; {commits} before, on {earlier.record.commit[:12]}, {result_of(earlier.record)}"
    )


def code(command: str) -> str:
    """Returns the command as code, each of its lines on a line of the page."""
    lines = (html.escape(line, quote=False) for line in command.strip().splitlines())
    return "\n".join(f"<br><code>{line}</code>" for line in lines).removeprefix("<br>")


_WIDEST = 120  # columns of a result beside which the row can end


def row(piece: Piece, record: Record | None, earlier: Earlier | None) -> str:
    """Returns the row in HTML: in Markdown it would be one line, wider than every screen."""
    facts = ["", "", ""]
    result = state_of(record, earlier)
    if piece.absent:
        result = f"not there: {html.escape(piece.absent)}"
    if record is None and earlier is not None:
        record = earlier.record
    if record is not None and not piece.absent:
        machine = f"{plural(record.cores, 'core')}, {html.escape(record.system)}"
        facts = [record.start[:16].replace("T", " "), duration(record.seconds), machine]
    if not result.startswith("passed"):
        result = f"<strong>{result}</strong>"
    return "\n".join(
        (
            f"<tr><td>{piece.name}</td>",
            f"<td>{html.escape(piece.shows, quote=False)}</td>",
            f"<td>{code(piece.command)}</td>",
            "".join(f"<td>{fact}</td>" for fact in facts),
            f"<td>{result}</td></tr>" if len(result) < _WIDEST else f"<td>{result}</td>\n</tr>",
        )
    )


def summary(pieces: list[Piece], latest: dict[str, Record], earlier: dict[str, Earlier]) -> str:
    known = [piece for piece in pieces if not piece.absent]
    records = [latest[piece.name] for piece in known if piece.name in latest]
    green = sum(record.is_green for record in records)
    ended = sum(record.state == ENDED for record in records)
    others = [earlier.get(piece.name) for piece in known if piece.name not in latest]
    once = [one.record.is_green for one in others if one is not None]
    counts = (
        f"Of {plural(len(known), 'piece')} {green} passed, {ended - green} did not pass, "
        f"{len(records) - ended} did not end, and {len(others)} were not run."
    )
    if once:
        counts += (
            f"\n{len(once)} of these ran before, on an earlier commit, and {sum(once)} passed."
        )
    return counts


def written(
    pieces: list[Piece], latest: dict[str, Record], earlier: dict[str, Earlier], commit: str
) -> str:
    """Returns the page about the commit."""
    counts = summary(pieces, latest, earlier)
    head = INTRODUCTION.format(mark=MARK, commit=commit, summary=counts)
    headings = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    rows = [row(piece, latest.get(piece.name), earlier.get(piece.name)) for piece in pieces]
    return "\n".join((head, "<table>", f"<tr>{headings}</tr>", *rows, "</table>", ""))
