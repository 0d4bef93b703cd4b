"""Runs a short program in the simulator, and returns its reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from built import facts_of, run_vramstow

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
    done = run_vramstow(
        *("run", card, f"--census={census}", *flags, "--trace-dir", folder, "--"),
        *(sys.executable, script),
        timeout=600,
    )
    (trace,) = [path for path in folder.glob("*.stow") if not path.stem.endswith("-oom")]
    screen = run_vramstow("analyze", trace, check=True).stdout
    return done.returncode, done.stderr, facts_of(trace), screen
