"""Runs the program as `python -m vramstow`, for systems where its command is not on PATH."""

from __future__ import annotations

import os
import sys

from vramstow import program

if __name__ == "__main__":
    try:
        file = program.path()
    except FileNotFoundError as error:
        sys.exit(f"vramstow: {error}.")
    os.execv(file, [file, *sys.argv[1:]])
