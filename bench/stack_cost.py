"""Measures what an event costs with the stack of its caller: nanoseconds of the thread's processor
time.

python bench/stack_cost.py [BUILD]

Each result is the least of 20 rounds of 20,000 events. With a warm
stack all events have the same one, as the events of a loop do.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVENTS = 20_000


def measure(probe: ctypes.PyDLL, python_frames: int, native_frames: int) -> float:
    if python_frames > 1:
        return measure(probe, python_frames - 1, native_frames)
    return probe.probe_measure(native_frames, EVENTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "build", nargs="?", type=Path, default=ROOT / "build", help="which build, with its tests"
    )
    library = parser.parse_args().build.resolve() / "tests/libstackprobe.so"
    if not library.exists():
        parser.error(f"{library} is missing: build the target stackprobe.")
    probe = ctypes.PyDLL(str(library))
    probe.probe_measure.restype = ctypes.c_double
    print("stacks  Python frames  native frames beside them  ns per event")
    for name, mode, cases in (
        ("off", 0, [(30, 30)]),
        ("all", 2, [(1, 0), (1, 30), (30, 0), (30, 30)]),
    ):
        with tempfile.TemporaryDirectory() as folder:
            assert probe.probe_open(folder.encode(), mode) == 0
            for python_frames, native_frames in cases:
                ns = measure(probe, python_frames, native_frames)
                print(f"{name:7} {python_frames:13} {native_frames:26} {ns:13.0f}")
            probe.probe_close()


if __name__ == "__main__":
    main()
