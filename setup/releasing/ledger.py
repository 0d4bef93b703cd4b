"""The ledger: what ran on which commit, one JSON object in a line.

The file is replaced as a whole, so that it has either all lines of before or the new one, too. Only
one process writes: the one that has the lock of the folder. A second file is part of the tree: the
last result of each piece on any commit, so that a fresh clone and another machine know them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path

from pieces import Piece

BEGUN, ENDED, INTERRUPTED = "begun", "ended", "interrupted"


class LedgerError(Exception):
    """The ledger cannot be read; the text is a whole sentence."""


@dataclass(frozen=True)
class Record:
    """One run of a piece. A record that is still `begun` belongs to a run whose process was killed,
    or that goes on."""

    commit: str  # all 40 digits
    piece: str
    command: str  # as the list of pieces has it
    state: str  # BEGUN, ENDED or INTERRUPTED
    start: str  # as 2026-11-29T22:13:10Z
    cores: int
    system: str  # for example "Debian GNU/Linux 12 (bookworm)"
    log: str  # below the folder of the ledger
    process: int = 0  # the group of its processes, while it runs
    seconds: float = 0
    status: int = 0  # as the shell has it: 128 + N after signal N
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    last_lines: list[str] = dataclasses.field(default_factory=list)

    @property
    def counted(self) -> int:
        return self.passed + self.failed + self.skipped

    @property
    def is_green(self) -> bool:
        """Returns whether it ended well; tests of which each was skipped have shown nothing."""
        shown = self.passed > 0 or self.counted == 0
        return self.state == ENDED and self.status == 0 and shown


FIELDS = dataclasses.fields(Record)
KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "list[str]": (list,)}


def read_record(line: str) -> Record:
    """Raises ValueError that says what is wrong with the line."""
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    for field in FIELDS:
        kinds = KINDS.get(str(field.type), (str,))
        if field.name not in values:
            if field.default is dataclasses.MISSING and kinds != (list,):
                raise ValueError(f"the field '{field.name}' is missing")
        elif not isinstance(values[field.name], kinds) or isinstance(values[field.name], bool):
            raise ValueError(f"the field '{field.name}' has a value of the wrong type")
    unknown = sorted(set(values) - {field.name for field in FIELDS})
    if unknown:
        raise ValueError(f"the field '{unknown[0]}' is unknown")
    record = Record(**values)
    if record.state not in (BEGUN, ENDED, INTERRUPTED):
        raise ValueError(f"the state '{record.state}' is unknown")
    return record


def read_records(file: Path) -> list[Record]:
    """Returns the records of the file, or none if there is no file. Raises LedgerError if a line is
    broken."""
    records = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(f"The ledger {file} cannot be read: {error}.") from error
    for number, line in enumerate(lines, 1):
        try:
            records.append(read_record(line))
        except ValueError as error:
            raise LedgerError(
                f"Line {number} of the ledger {file} is broken ({error}); remove that line, "
                "and what it recorded runs again."
            ) from error
    return records


@dataclass(frozen=True)
class Earlier:
    """The result of a piece on a commit of the history."""

    record: Record
    distance: int  # commits since then


class Ledger:
    def __init__(self, file: Path, kept: Path) -> None:
        """Reads the file and the one that is part of the tree, if there are any. Raises LedgerError
        if a line is broken."""
        self._file = file
        self._records = read_records(file)
        self._kept = [record for record in read_records(kept) if record.state == ENDED]

    def put(self, record: Record) -> None:
        """Adds the record; it replaces the one of its own beginning. Raises OSError if it cannot be
        written; then the file is as it was."""
        records = [
            one
            for one in self._records
            if (one.commit, one.piece, one.start, one.state)
            != (record.commit, record.piece, record.start, BEGUN)
        ]
        records.append(record)
        text = "".join(json.dumps(dataclasses.asdict(one)) + "\n" for one in records)
        aside = self._file.with_name(self._file.name + ".new")
        try:
            with aside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self._file)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        self._records = records

    def latest(self, commit: str, pieces: list[Piece]) -> dict[str, Record]:
        """Returns the last record of each piece on this commit. What another list ran under the
        name of a piece is not its record."""
        commands = {piece.name: piece.command for piece in pieces}
        return {
            record.piece: record
            for record in (*self._kept, *self._records)
            if record.commit == commit and record.command == commands.get(record.piece)
        }

    def earlier(self, history: list[str], pieces: list[Piece]) -> dict[str, Earlier]:
        """Returns the result of each piece on the nearest commit of the history on which it ended.
        `history` begins with the commit that is looked at, and goes back."""
        distances = {commit: distance for distance, commit in enumerate(history)}
        commands = {piece.name: piece.command for piece in pieces}
        found: dict[str, Earlier] = {}
        for record in (*self._kept, *self._records):
            distance = distances.get(record.commit, 0)
            if distance == 0 or record.state != ENDED:
                continue
            if record.command != commands.get(record.piece):
                continue
            if record.piece not in found or distance <= found[record.piece].distance:
                found[record.piece] = Earlier(record, distance)
        return found

    def kept_text(self) -> str:
        """Returns what the file of the tree shall have: the last result of each piece. It names no
        file of this machine."""
        ended = [one for one in (*self._kept, *self._records) if one.state == ENDED]
        last = {one.piece: one for one in sorted(ended, key=lambda one: one.start)}
        records = (dataclasses.replace(last[name], log="", last_lines=[]) for name in sorted(last))
        return "".join(json.dumps(dataclasses.asdict(one)) + "\n" for one in records)

    def begun(self) -> list[Record]:
        """Returns the runs on any commit that have not ended, or were killed."""
        return [record for record in self._records if record.state == BEGUN]

    def seconds(self) -> dict[str, float]:
        """Returns how long the last whole run of each piece took, on any commit."""
        ended = (one for one in (*self._kept, *self._records) if one.state == ENDED)
        return {one.piece: one.seconds for one in ended}
