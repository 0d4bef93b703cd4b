"""Runs a build and shows its progress.

    python3 setup/show_build.py BUILD LOG -- ninja -C BUILD [TARGET …]

The command's output goes to the file LOG. First a line on standard error says about how long the
build takes. Then one line shows a bar, the time that is left, and the room that is compiled: on a
terminal the line is overwritten, elsewhere it is printed again every 30 seconds. A build without
steps prints nothing.

The estimate follows from the steps of ninja: the weight of a step is the number of lines that it
compiles, plus some for the headers that it reads.

Exit status: the command's own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEP = re.compile(r"^\[\d+/\d+\] (.*)")
COMPILED = re.compile(r"^(?:Building|Compiling) .*?(\S+)/CMakeFiles/[^/]+\.dir/(\S+)\.o$")
INCLUDED = re.compile(r'^#include "(.*)"', re.MULTILINE)

HEADER_LINES = 1000  # lines that take as long as the headers of a compiled file
OTHER_STEP = 30  # lines that take as long as a link, a copy or a generated table
LINES_PER_SECOND = 550  # lines that one core compiles in a second
BAR = 24
REDRAW_S = 0.5
NEXT_LINE_S = 30.0


def lines_in(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def weight(step: str, build: Path) -> int:
    """Returns the number of lines of a step, from ninja's description."""
    found = COMPILED.search(step)
    if found is None:
        return OTHER_STEP
    # A file that the build combined from several files of the tree.
    together = build / step.split()[-1].removesuffix(".o")
    if together.is_file():
        names = INCLUDED.findall(together.read_text())
        return HEADER_LINES + sum(lines_in(Path(name)) for name in names)
    return HEADER_LINES + lines_in(build.parent / found[1] / found[2].replace("__/", "../"))


def planned(build: Path, targets: list[str]) -> list[str]:
    """Returns ninja's descriptions of the steps that it would execute."""
    # First let ninja notice added and removed files. A dry run would only say that it looks for
    # them, unless it reads another build file.
    subprocess.run(["ninja", "-C", str(build), "build.ninja"], capture_output=True, check=False)
    # Another run may build something else in this folder.
    with tempfile.NamedTemporaryFile(dir=build, prefix="plan-", suffix=".ninja") as copy:
        shutil.copyfile(build / "build.ninja", copy.name)
        said = subprocess.run(
            ["ninja", "-C", str(build), "-f", Path(copy.name).name, "-n", *targets],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    return [found[1] for found in map(STEP.match, said.splitlines()) if found]


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} minutes"


class Work:
    """The steps that a build has finished, and those that remain."""

    def __init__(self, build: Path, steps: list[str]) -> None:
        self._weights = {step: weight(step, build) for step in steps}
        self._whole = max(1, sum(self._weights.values()))
        self._done = 0
        self._begin = time.monotonic()

    def expected(self, cores: int) -> float:
        """Returns the expected seconds on otherwise idle cores."""
        return self._whole / LINES_PER_SECOND / cores

    def add(self, step: str) -> None:
        self._done = min(self._whole, self._done + self._weights.get(step, 0))

    def text(self, step: str) -> str:
        part = self._done / self._whole
        filled = int(BAR * part)
        text = f"[{'#' * filled}{'.' * (BAR - filled)}] {int(100 * part):3d}%"
        # The duration of the first steps says little about the rest.
        if part > 0.02:
            passed = time.monotonic() - self._begin
            text += f", about {duration(passed * (1 - part) / part)} left"
        found = COMPILED.search(step)
        return text + (f": {found[1]}" if found else "")


class Line:
    """The line that shows the progress, on a terminal or elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._wait = REDRAW_S if self._terminal else NEXT_LINE_S
        self._next = time.monotonic() + self._wait
        self._shown = False

    def show(self, text: str) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._wait
        self._shown = True
        if self._terminal:
            text = "\r\033[K" + text[: shutil.get_terminal_size().columns - 1]
        print(text, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._terminal and self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run(command: list[str], log: Path, work: Work) -> int:
    line = Line()
    with (
        log.open("w") as out,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        for said in process.stdout:
            out.write(said)
            found = STEP.match(said)
            if found is not None:
                work.add(found[1])
                line.show(work.text(found[1]))
    line.close()
    return process.returncode


def main() -> int:
    split = sys.argv.index("--")
    build, log = (Path(name).absolute() for name in sys.argv[1:split])
    command = sys.argv[split + 1 :]
    steps = planned(build, command[3:])
    work = Work(build, steps)
    if steps:
        cores = len(os.sched_getaffinity(0))
        about = duration(work.expected(cores))
        print(f"Building into {build.name}/: about {about} on {cores} idle cores", file=sys.stderr)
    return run(command, log, work)


if __name__ == "__main__":
    sys.exit(main())
