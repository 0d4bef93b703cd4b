"""Finds the build that is tested, and runs its programs.

pyproject.toml adds this folder to the path of each Python test.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import socket
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")).resolve()
# The program of this build, or one that is installed.
VRAMSTOW = Path(os.environ.get("VRAMSTOW_TEST_INSTALLED") or BUILD / "bin/vramstow")
SIMULATOR = BUILD / "lib/vramstow/simulator"

Ran = subprocess.CompletedProcess[str]


def run_program(*command: object, check: bool = False, **options: object) -> Ran:
    """Runs a command and returns its exit status, standard output and standard error as text.

    `options` are those of subprocess.run. With `check`, another exit status than 0 fails the test.
    """
    settings = {"capture_output": True, "text": True, "check": False} | options
    done = subprocess.run([str(part) for part in command], **settings)
    assert not check or done.returncode == 0, (
        f"{command} ended with {done.returncode}: {done.stderr}"
    )
    return done


def free_port() -> int:
    """Returns a port below the range from which the system gives ports to other programs."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def run_vramstow(*arguments: object, check: bool = False, **options: object) -> Ran:
    return run_program(VRAMSTOW, *arguments, check=check, **options)


def facts_of(*traces: object, **options: object) -> dict[str, Any]:
    """Returns the result of `vramstow analyze --json` for the traces."""
    return json.loads(run_vramstow("analyze", "--json", *traces, check=True, **options).stdout)


def events_of(trace: Path) -> list[dict[str, str]]:
    """Returns the events of the trace, as `vramstow export --to csv` writes them."""
    listing = run_vramstow("export", trace, "--to", "csv", check=True)
    return list(csv.DictReader(listing.stdout.splitlines()))


def iterations_among(rows: list[dict[str, str]]) -> set[str]:
    """Returns the sequence numbers of the marks of iterations. They have one annotation, that of
    the last mark; other marks record facts, such as that lines of this Python cannot be read."""
    marks = [row for row in rows if row["kind"] == "mark"]
    return {row["sequence"] for row in marks if row["object"] == marks[-1]["object"]}
