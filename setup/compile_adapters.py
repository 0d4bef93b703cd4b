"""Compiles the adapters of the wheel for several releases of PyTorch, several at a time.

    python3 setup/compile_adapters.py PROGRAM HEADERS COMPILED TO RELEASE…

PROGRAM is the program vramstow of the wheel; HEADERS has a folder with PyTorch's headers for each
release (setup/wheel makes them). The compiled libraries remain in the folder COMPILED, so that a
second run compiles only what changed; all libraries for these releases are copied into the folder
TO. CXX is the compiler. One line on standard error shows the progress.

Exit status: 0 if all were compiled; 1 if some could not be compiled, and standard error says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from show_build import BAR, Line

# The option of `vramstow adapter build` for each kind, and the beginning of its file name.
KINDS = {"": "torch", "--observer": "torch-observer", "--values": "torch-values"}
KINDS["--census"] = "torch-census"
NONE_FOR_RELEASE = 3  # an exit status: not every release can have each of them


def compile_one(program: Path, headers: Path, compiled: Path, kind: str) -> tuple[Path | None, str]:
    """Returns the library, or None with the reason; the reason is empty if the release needs no
    such library."""
    command = [program, "adapter", "build", "--quiet", *([kind] if kind else [])]
    done = subprocess.run(
        [*command, "--torch", headers, "--ship", compiled],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return Path(done.stdout.strip()), ""
    return None, "" if done.returncode == NONE_FOR_RELEASE else done.stderr


def main() -> int:
    program, headers, compiled, to = (Path(name).absolute() for name in sys.argv[1:5])
    releases = sys.argv[5:]
    compiled.mkdir(parents=True, exist_ok=True)
    to.mkdir(parents=True, exist_ok=True)
    line = Line()
    failed = []
    total = len(releases) * len(KINDS)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        jobs = {
            workers.submit(compile_one, program, headers / release / "torch", compiled, kind): (
                release,
                KINDS[kind],
            )
            for release in releases
            for kind in KINDS
        }
        for count, job in enumerate(as_completed(jobs), 1):
            release, name = jobs[job]
            library, why = job.result()
            if why:
                failed.append(f"{name} for PyTorch {release} cannot be compiled:\n{why}")
            if library is not None:
                shutil.copy(library, to)
            filled = BAR * count // total
            bar = f"[{'#' * filled}{'.' * (BAR - filled)}]"
            line.show(f"{bar} {count} of {total}: {name} for PyTorch {release}")
    line.close()
    for text in failed:
        print(text, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
