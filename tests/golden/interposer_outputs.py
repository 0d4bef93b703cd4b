"""The interposer: the exports of its libraries, and the page about hooks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import golden

LIBRARIES = ("libvramstow.so", "libvramstow-core.so", "libvramstow-cupti.so")


def exports(build: Path, _: Path) -> golden.Outputs:
    for name in LIBRARIES:
        result = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=posix", build / "lib" / name],
            check=True,
            capture_output=True,
            text=True,
        )
        # Keep the name and the kind, but not the address.
        lines = sorted(" ".join(line.split()[:2]) for line in result.stdout.splitlines())
        yield name, "\n".join(lines) + "\n"


def hooks(build: Path, folder: Path) -> golden.Outputs:
    page = folder / "hooks.md"
    subprocess.run([build / "interpose/shim/hooks-page-writer", page], check=True)
    yield "hooks.md", page.read_text()


SECTIONS = {"interposer-exports": exports, "interposer-hooks": hooks}
