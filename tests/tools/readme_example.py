"""Makes the example of README.md: a job rehearsed, and parts of its analysis, as they are printed.

    python tests/tools/readme_example.py        # writes it into README.md

Needs PyTorch and a build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
BEGIN = "<!-- made by tests/tools/readme_example.py -->\n\n"
END = "\n<!-- end -->"
JOB = "python examples/transformer.py --steps 3"
# Sections of the analysis, in this order; the rest would fill another page.
SECTIONS = ("Device memory over time", "Peak", "Advice", "What it is for, at the peak")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )


def sections(report: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in report.splitlines():
        heading = re.match(r"── (.+?) ─", line)
        if heading is not None:
            name = heading[1]
        found.setdefault(name, []).append(line)
    return found


def first(count: int, advice: list[str]) -> list[str]:
    """This number of pieces of advice, and a sign where there are more."""
    starts = [at for at, line in enumerate(advice) if re.match(r"\d+\. ", line)]
    return advice if len(starts) <= count else [*advice[: starts[count]], "…", ""]


def example() -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        command = "vramstow run --simulate=h200 --"
        done = run(*command.split(), *JOB.split(), cwd=Path(folder))
        [trace] = Path(folder).glob("*.stow")
        trace.rename(Path(folder) / "run.stow")
        report = run("vramstow", "analyze", "run.stow", cwd=Path(folder)).stdout
        lines = [f"$ {command} {JOB}", *done.stdout.splitlines(), *done.stderr.splitlines()]
        summary = [line.replace(folder + "/", "").replace(trace.name, "run.stow") for line in lines]
    parts = sections(report)
    text = [*summary, "", "$ vramstow analyze run.stow", "…"]
    for name in SECTIONS:
        text += first(2, parts[name]) if name == "Advice" else parts[name]
    made = "\n".join(text).replace("\n\n\n", "\n\n").rstrip()
    return "\n".join(f"    {line}".rstrip() for line in made.splitlines()) + "\n    …\n"


def split(page: str) -> tuple[str, str, str]:
    """The text before the example, the example, and the text behind it."""
    before, found, rest = page.partition(BEGIN)
    old, found_end, after = rest.partition(END)
    assert found and found_end, "README.md has lost the marks of its example"
    return before + BEGIN, old, END + after


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before, _, after = split(readme.read_text())
    readme.write_text(before + example() + after)
