"""Measures what an event costs memray, heaptrack and vramstow's recorder, with the same loop of
malloc and free.

Usage: host_tracers_cost.py [--rounds N] [--events N] [--memray PYTHON] [BUILD]. PYTHON is an
interpreter that has memray. The tracers take turns, each in a process of its own. The result is the
least of all rounds, in nanoseconds of the thread's processor time for each malloc or free, minus
the time of the loop alone. A tracer that is not installed is left out with a message.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LOOP = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in ("host_loop", "host_loop_recorded"):
    getattr(library, name).restype = ctypes.c_double
events = int(sys.argv[2])
if len(sys.argv) > 3:
    print("NS", library.host_loop_recorded(sys.argv[3].encode(), int(sys.argv[4]), events))
else:
    print("NS", library.host_loop(events))
"""


def commands(library: Path, events: int, memray: str | None) -> dict[str, list[str]]:
    """Returns the command for each tracer, which may write into `folder`."""
    loop = ["{folder}/loop.py", str(library), str(events)]
    found = {
        "the loop alone": [sys.executable, *loop],
        "vramstow": [sys.executable, *loop, "{folder}", "0"],
        "vramstow, stacks": [sys.executable, *loop, "{folder}", "2"],
    }
    if memray is not None:
        run = [memray, "-m", "memray", "run", "-q", "-o", "{folder}/memray.bin"]
        found["memray"] = [*run, *loop]
        found["memray, native stacks"] = [*run, "--native", *loop]
    else:
        print("memray is left out: name a Python that has it with --memray.")
    if heaptrack := shutil.which("heaptrack"):
        found["heaptrack (native stacks)"] = [
            *(heaptrack, "--raw", "-o", "{folder}/heaptrack"),
            *(sys.executable, *loop),
        ]
    else:
        print("heaptrack is left out: it is not installed (Debian: heaptrack).")
    return found


def nanoseconds(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loop.py").write_text(LOOP)
        filled = [part.replace("{folder}", folder) for part in command]
        result = subprocess.run(filled, capture_output=True, text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith("NS "):
            return float(line.split()[1])
    raise SystemExit(f"{' '.join(command)} gave no figure: {result.stderr.strip()[-300:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--memray", metavar="PYTHON")
    arguments = parser.parse_args()
    library = arguments.build / "tests/libhostloop.so"
    tracers = commands(library, arguments.events, arguments.memray)
    times: dict[str, list[float]] = {name: [] for name in tracers}
    for _ in range(arguments.rounds):
        for name, command in tracers.items():
            times[name].append(nanoseconds(command))
    alone = min(times.pop("the loop alone"))
    print(f"the loop alone: {alone:.1f} ns for a malloc or a free; added to that:")
    for name, rounds in times.items():
        print(f"{name:26} {min(rounds) - alone:8.0f} ns")


if __name__ == "__main__":
    main()
