"""Measures what an event costs with the stack of its caller: nanoseconds of the thread's processor
time.

Usage: stack_cost.py BUILD. Each result is the least of 20 rounds of 20,000 events. With a warm
stack all events have the same one, as the events of a loop do.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from pathlib import Path

EVENTS = 20_000


def measure(probe: ctypes.PyDLL, python_frames: int, native_frames: int) -> float:
    if python_frames > 1:
        return measure(probe, python_frames - 1, native_frames)
    return probe.probe_measure(native_frames, EVENTS)


def main() -> None:
    probe = ctypes.PyDLL(str(Path(sys.argv[1]) / "tests" / "libstackprobe.so"))
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
