"""vramstow from within a Python program: what the pool holds, and what a piece of code did with it.

Works without torch, and where vramstow is not preloaded: then `active()` is false, `stats()` gives
None, and the rest does nothing. Sizes are bytes; devices are CUDA's numbers, ALL_DEVICES their sum.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass, fields
from types import TracebackType

__all__ = [
    "ALL_DEVICES",
    "Stats",
    "active",
    "empty_cache",
    "on_pressure",
    "set_limit",
    "stats",
    "track",
    "version",
]

ALL_DEVICES = -1
_OK = 0
_PRESSURE = 0


@dataclass(frozen=True)
class Stats:
    """What a pool counts, as vramstow_stats in vramstow.h, in its order."""

    allocated_bytes: int
    requested_bytes: int
    reserved_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    pending_bytes: int
    limit_bytes: int
    live_blocks: int
    allocations: int
    frees: int
    misses: int
    released_bytes: int
    fence_wait_ns: int
    out_of_memory: int
    host_bytes: int


_COUNT = len(fields(Stats))
_Hook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
_hooks: list[object] = []  # called by the library as long as the process lives


def _function(name: str) -> Callable[..., int] | None:
    """The preloaded library's function; None where there is none."""
    return getattr(ctypes.CDLL(None), name, None)


def version() -> str | None:
    """The preloaded library's version."""
    function = _function("vramstow_version")
    if function is None:
        return None
    function.restype = ctypes.c_char_p  # type: ignore[attr-defined]
    return function().decode()  # type: ignore[attr-defined]


def stats(device: int = ALL_DEVICES) -> Stats | None:
    """What the pool holds now; None where no pool serves memory (yet)."""
    function = _function("vramstow_get_stats")
    numbers = (ctypes.c_uint64 * _COUNT)()
    size = ctypes.c_size_t(ctypes.sizeof(numbers))
    if function is None or function(device, numbers, size) != _OK:
        return None
    return Stats(*numbers)


def active() -> bool:
    """Whether a pool of vramstow's serves memory in this process."""
    return stats() is not None


def empty_cache(device: int = ALL_DEVICES) -> int:
    """Gives cached memory back to the device; says how much that was."""
    function = _function("vramstow_empty_cache")
    released = ctypes.c_uint64()
    if function is None or function(device, ctypes.byref(released), None) != _OK:
        return 0
    return released.value


def set_limit(limit: int | None, device: int = ALL_DEVICES) -> bool:
    """The most that the pool may hold; None: no limit. False: there is no pool."""
    function = _function("vramstow_set_limit")
    return function is not None and function(device, ctypes.c_uint64(limit or 0)) == _OK


def on_pressure(callback: Callable[[int], None]) -> bool:
    """Calls back with the bytes that an allocation lacks, which is then tried again.

    Runs on the thread that allocates. False: vramstow is not there, or has no room for one more.
    """
    function = _function("vramstow_register_pressure_hook")
    if function is None:
        return False

    def call(_context: int, why: int, lacking: int) -> None:
        if why == _PRESSURE:
            callback(lacking)

    hook = _Hook(call)
    if function(hook, None) != _OK:
        return False
    _hooks.append(hook)
    return True


class track(ContextDecorator):
    """What a piece of code does with device memory: a context manager, and a decorator.

    with vramstow.track("forward") as forward:
        model(batch)
    print(forward)

    `peak_bytes` is the most that was allocated within; the pool's own peaks begin anew there, those
    that torch.cuda tells do not.
    """

    def __init__(self, name: str, device: int = ALL_DEVICES) -> None:
        self.name = name
        self.device = device
        self.before: Stats | None = None
        self.after: Stats | None = None

    def __enter__(self) -> track:
        self.after = None
        reset = _function("vramstow_reset_peaks")
        if reset is not None:
            reset(self.device)
        self.before = stats(self.device)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.after = stats(self.device)

    def _change(self, name: str) -> int:
        after = getattr(self.after, name, 0)
        return after - getattr(self.before, name, 0)

    @property
    def allocated_bytes(self) -> int:
        """What stays of it: allocated after, less allocated before."""
        return self._change("allocated_bytes")

    @property
    def reserved_bytes(self) -> int:
        return self._change("reserved_bytes")

    @property
    def allocations(self) -> int:
        return self._change("allocations")

    @property
    def peak_bytes(self) -> int:
        return 0 if self.after is None else self.after.peak_allocated_bytes

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.name}: not known (no pool of vramstow's)"
        return (
            f"{self.name}: {self.allocated_bytes / 2**20:+.1f} MiB allocated, "
            f"{self.reserved_bytes / 2**20:+.1f} MiB reserved, peak "
            f"{self.peak_bytes / 2**20:.1f} MiB, {self.allocations} allocations"
        )
