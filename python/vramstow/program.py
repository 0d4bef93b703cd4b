"""Finds the program `vramstow`. The wheel's command of the same name starts here."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_WHY_NOT_EXECUTED = (
    "the file system is mounted with noexec, or the file lacks the permission; install the wheel "
    "into another folder"
)


def path() -> str:
    """Returns the program's path. Raises FileNotFoundError if there is none."""
    chosen = os.environ.get("VRAMSTOW_PROGRAM", "")
    within = Path(__file__).parent / "native/bin/vramstow"
    for candidate in (chosen, str(within), shutil.which("vramstow") or ""):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    if os.path.exists(within):
        raise FileNotFoundError(f"{within} cannot be executed: {_WHY_NOT_EXECUTED}")
    raise FileNotFoundError(
        "the program vramstow was not found: install the vramstow wheel, put the program on PATH, "
        "or name it with VRAMSTOW_PROGRAM"
    )


def main() -> None:
    """The wheel's console script: replaces this process by the program."""
    within = Path(__file__).parent / "native/bin/vramstow"
    if not os.path.exists(within):
        sys.exit(f"vramstow: {within} is missing: install the vramstow wheel again.")
    if not os.access(within, os.X_OK):
        sys.exit(f"vramstow: {within} cannot be executed: {_WHY_NOT_EXECUTED}.")
    os.execv(within, [str(within), *sys.argv[1:]])
