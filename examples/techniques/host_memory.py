"""Measures the most host memory that a piece of a program takes.

Counted is what this process and those that it started have written themselves (RssAnon and
Pss_Anon of proc(5)), over what it was at the beginning. It is sampled: a peak that lasts less than
some milliseconds can be missed. Memory of a simulated card is shared memory, and does not count.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

_INTERVAL_S = 0.005


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _field_bytes(file: str, name: str) -> int:
    found = [line.split()[1] for line in Path(file).read_text().splitlines() if name in line]
    return int(found[0]) << 10


def _own_bytes(pid: int, is_shared: bool = False) -> int:
    """Returns the bytes that the process and its children have written; 0 for one that has ended.

    Memory that a child has of its parent since fork() counts once: each process has its share of
    it."""
    try:
        children = _children(pid)
        if not children and not is_shared:
            return _field_bytes(f"/proc/{pid}/status", "RssAnon:")
        own = _field_bytes(f"/proc/{pid}/smaps_rollup", "Pss_Anon:")
    except (OSError, IndexError):
        return 0
    return own + sum(_own_bytes(child, is_shared=True) for child in children)


class HostMemory:
    """Measures within `with HostMemory() as host:`; then host.peak_bytes has the result."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._before = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> HostMemory:
        self._before = _own_bytes(os.getpid())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_INTERVAL_S):
            self.peak_bytes = max(self.peak_bytes, _own_bytes(os.getpid()) - self._before)
