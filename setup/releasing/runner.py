"""Runs one piece: its command in a process group of its own, with a log and a limit of time."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from counts import Counts, count
from ledger import BEGUN, ENDED, INTERRUPTED, Ledger, Record
from pieces import Piece

LIMIT_S = 4 * 3600.0  # a piece that has not ended by then hangs
PATIENCE_S = 10.0  # for processes that were asked to end
LAST_LINES = 5
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Lets Interrupted be raised on Ctrl-C and kill; a second signal changes nothing."""

    def note(number: int, _: FrameType | None) -> None:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    before = {one: signal.signal(one, note) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextlib.contextmanager
def masked() -> Iterator[set[signal.Signals]]:
    """Lets no signal interrupt what runs in it; yields the mask that was set before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Place:
    """Where pieces run. `folder` keeps what pieces of one commit hand to each other."""

    tree: Path
    commit: str
    results: Path  # has the ledger and the logs
    before: Path | None  # the tree of the last release, with its build

    @property
    def folder(self) -> Path:
        return self.results / self.commit[:12]


def system_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def is_alive(group: int) -> bool:
    """Returns whether the process group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def mark_of(record: Record) -> dict[str, str]:
    """Returns what the processes of a run have in their environment."""
    return {"RELEASE_PIECE": f"{record.piece} {record.start}"}


def still_runs(record: Record) -> bool:
    """Returns whether processes of a killed run go on. The number of their group may have been
    given to others since, so that the mark is looked for."""
    if record.state != BEGUN or record.process <= 0:
        return False
    [(name, value)] = mark_of(record).items()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == record.process:
                marks = (folder / "environ").read_bytes().split(b"\0")
                if f"{name}={value}".encode() in marks:
                    return True
        except OSError:  # it has ended meanwhile
            continue
    return False


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and all processes of its group; returns when they have ended."""
    for number, patience in ((signal.SIGTERM, PATIENCE_S), (signal.SIGKILL, PATIENCE_S)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            child.poll()  # a child that has ended belongs to its group until its status is read
            if not is_alive(child.pid):
                break
            time.sleep(0.02)
    child.wait()


def status_of(child: subprocess.Popen[bytes], limit_s: float) -> int:
    """Waits for the end of a process. TimeoutExpired is raised if that takes too long.

    Popen.wait() could be interrupted just after it has acquired its lock: each later wait would
    wait forever. So the process is only asked for while no signal can interrupt.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        with masked():
            status = child.poll()
        if status is not None:
            return status
        time.sleep(0.05)
    raise subprocess.TimeoutExpired(child.args, limit_s)


def last_lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return [line[-300:] for line in lines[-LAST_LINES:]]


def filled_in(command: str, place: Place, temporary: str) -> str:
    before = str(place.before) if place.before else ""
    for name, value in (("folder", str(place.folder)), ("temporary", temporary)):
        command = command.replace("{" + name + "}", shlex.quote(value))
    return command.replace("{before}", shlex.quote(before))


def run_piece(piece: Piece, place: Place, ledger: Ledger) -> Record:
    """Runs it, and records its beginning and its end. Raises OSError if something cannot be
    written, and Interrupted once an interruption is recorded."""
    start = datetime.datetime.now(datetime.timezone.utc)
    place.folder.mkdir(parents=True, exist_ok=True)
    logs = place.folder / "logs"
    logs.mkdir(exist_ok=True)
    log = logs / f"{piece.name}-{start:%m%d-%H%M%S}.log"
    temporary = tempfile.mkdtemp(prefix="vramstow-release-")
    record = Record(
        commit=place.commit,
        piece=piece.name,
        command=piece.command,
        state=BEGUN,
        start=f"{start:%Y-%m-%dT%H:%M:%SZ}",
        cores=len(os.sched_getaffinity(0)),
        system=system_name(),
        log=str(log.relative_to(place.results)),
    )
    try:
        command = filled_in(piece.command, place, temporary)
        record = follow(record, command, place.tree, log, ledger)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return record


def follow(record: Record, command: str, tree: Path, log: Path, ledger: Ledger) -> Record:
    begin = time.time()
    interruption: Interrupted | None = None
    state, status = ENDED, 0
    with log.open("wb") as output, interruptible():
        child: subprocess.Popen[bytes] | None = None
        try:
            ledger.put(record)  # a ledger that cannot be written is found before an hour is lost
            with masked() as before:  # a child that nobody knows could not be ended
                child = subprocess.Popen(
                    ["bash", "-euo", "pipefail", "-c", command],
                    cwd=tree,
                    env=os.environ | mark_of(record),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
                )
            record = replace(record, process=child.pid)
            ledger.put(record)
            status = status_of(child, LIMIT_S)
        except subprocess.TimeoutExpired:
            status = 124
            output.write(f"\nIt was ended after {LIMIT_S / 3600:.0f} hours.\n".encode())
        except Interrupted as signalled:
            interruption, state, status = signalled, INTERRUPTED, 128 + signalled.number
        finally:
            if child is not None:
                end_group(child)
    text = log.read_text(errors="replace")
    counts = count(text, begin) if state == ENDED else Counts()
    record = replace(
        record,
        state=state,
        process=0,
        seconds=round(time.time() - begin, 1),
        status=status if status >= 0 else 128 - status,
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        last_lines=last_lines(text),
    )
    ledger.put(record)
    if interruption is not None:
        raise interruption
    return record
