"""How much of the host's memory a piece of a program takes at most.

Counted is what this process and those that it started have written themselves (RssAnon of
/proc/PID/status), over what it was at the beginning. It is sampled: a peak that lasts less than a
few milliseconds can be missed. Memory of a simulated card is shared memory, and does not count.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

_INTERVAL_S = 0.005


def _own_bytes(pid: int) -> int:
    """What the process and its children have written themselves; 0 of one that has gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return sum(int(kilobytes) << 10 for kilobytes in found) + sum(
        map(_own_bytes, map(int, children))
    )


class HostMemory:
    """with HostMemory() as host: ...; then host.peak_bytes."""

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
