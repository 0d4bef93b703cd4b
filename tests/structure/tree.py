"""The files of the repository for the structure tests."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# An include of one of this project's files.
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CODE_SUFFIXES = {".h", ".cc", ".c", ".S", ".def"}


@cache
def files() -> tuple[Path, ...]:
    """Returns all files that belong to the repository: tracked ones, and new ones that are not
    ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (ROOT / line for line in sorted(set(listing.stdout.splitlines())))
    return tuple(path for path in paths if path.is_file())


def code(*suffixes: str) -> list[Path]:
    wanted = set(suffixes) or CODE_SUFFIXES
    return [path for path in files() if path.suffix in wanted]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
