"""Makes the example of README.md: a job that runs out of memory, and its printed analysis.

    python tests/tools/docs/readme_example.py   # writes it into README.md

It needs PyTorch and a build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
BEGIN = "<!-- made by tests/tools/docs/readme_example.py -->\n\n"
END = "\n<!-- end -->"
JOB = "python examples/transformer.py --steps 3"
CARD = "h200,memory=1GiB"
# The sections of the analysis to show, in this order.
SECTIONS = ("Out of memory", "Device memory over time", "Largest by line", "Read on")


def run(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    path = f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=check,
        timeout=500,
    )


def example() -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        command = f"vramstow run --simulate={CARD} --"
        done = run(*command.split(), *JOB.split(), cwd=Path(folder), check=False)
        assert "OutOfMemoryError" in done.stderr, done.stderr
        [trace] = Path(folder).glob("*.stow")
        trace.rename(Path(folder) / "run.stow")
        report = run("vramstow", "analyze", "run.stow", cwd=Path(folder)).stdout
    # Skip the job's own traceback, which would fill the page.
    summary = done.stderr[done.stderr.index("vramstow: ") :]
    summary = summary.replace(folder + "/", "").replace(trace.name, "run.stow")
    made = f"$ {command} {JOB}\n…\n{summary}\n$ vramstow analyze run.stow\n{report}"
    return "".join(f"    {line}".rstrip() + "\n" for line in made.splitlines())


def split(page: str) -> tuple[str, str, str]:
    """Returns the text before the example, the example, and the text after it."""
    before, found, rest = page.partition(BEGIN)
    old, found_end, after = rest.partition(END)
    assert found and found_end, "README.md has lost the marks of its example"
    return before + BEGIN, old, END + after


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before, _, after = split(readme.read_text())
    readme.write_text(before + example() + after)
