"""Runs a short program in the simulator, and returns its reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VRAMSTOW = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")) / "bin/vramstow"
MIB = 1 << 20


def run(
    program: str,
    folder: Path,
    census: str = "off",
    memory: str = "1GiB",
    flags: tuple[str, ...] = (),
) -> tuple[int, str, dict[str, Any], str]:
    """Returns the exit status, the summary, the facts and the screen."""
    script = folder / "program.py"
    script.write_text(program)
    card = f"--simulate=h200,memory={memory}"
    command = [VRAMSTOW, "run", card, f"--census={census}", *flags, "--trace-dir", folder, "--"]
    done = subprocess.run(
        [*command, sys.executable, script], capture_output=True, text=True, timeout=600, check=False
    )
    (trace,) = [path for path in folder.glob("*.stow") if not path.stem.endswith("-oom")]

    def analyze(*options: str) -> str:
        listing = subprocess.run(
            [VRAMSTOW, "analyze", *options, trace], capture_output=True, text=True, check=True
        )
        return listing.stdout

    return done.returncode, done.stderr, json.loads(analyze("--json")), analyze()
