"""The preloaded library, by ctypes: the C API of vramstow.h.

Where vramstow is not preloaded, or serves no memory (yet), questions give None or nothing and
orders give False. Sizes are bytes; devices are CUDA's numbers, ALL_DEVICES their sum.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields

ALL_DEVICES = -1
OK = 0
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
    offloaded_bytes: int
    paused_bytes: int
    moved_out_bytes: int
    moved_back_bytes: int
    offload_host_bytes: int


@dataclass(frozen=True)
class Block:
    """A live block: `size_bytes` of the device, of which somebody asked for `requested_bytes`."""

    address: int
    size_bytes: int
    requested_bytes: int
    device: int


class _Block(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("requested", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


_COUNT = len(fields(Stats))
_Hook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
_process = ctypes.CDLL(None)
# Called by the library as long as they are registered, and perhaps a moment longer.
_hooks: dict[Callable[[int], None], object] = {}


def function(name: str) -> Callable[..., int] | None:
    """The preloaded library's function; None where there is none."""
    return getattr(_process, name, None)


def version() -> str | None:
    """The preloaded library's version; None: vramstow is not preloaded."""
    found = function("vramstow_version")
    if found is None:
        return None
    found.restype = ctypes.c_char_p  # type: ignore[attr-defined]
    return found().decode()  # type: ignore[attr-defined]


def why_not() -> str | None:
    """One sentence on why there are no numbers here; None: there are."""
    if version() is None:
        return (
            "vramstow is not preloaded into this process: start it with vramstow run --pool=on -- "
            f"{os.path.basename(sys.executable)} …"
        )
    if os.environ.get("VRAMSTOW_POOL") != "on":
        return "vramstow's pool is off in this process: start it with vramstow run --pool=on"
    if stats() is None:
        return "vramstow's pool serves no memory yet: no device memory was asked for so far"
    return None


def stats(device: int = ALL_DEVICES) -> Stats | None:
    """What the pool holds now; None where no pool serves memory (yet)."""
    found = function("vramstow_get_stats")
    numbers = (ctypes.c_uint64 * _COUNT)()
    size = ctypes.c_size_t(ctypes.sizeof(numbers))
    if found is None or found(device, numbers, size) != OK:
        return None
    return Stats(*numbers)


def active() -> bool:
    """Whether a pool of vramstow's serves memory in this process."""
    return stats() is not None


def blocks(device: int = ALL_DEVICES) -> list[Block]:
    """The pool's live blocks, the largest first."""
    found = function("vramstow_get_blocks")
    if found is None:
        return []
    size = ctypes.c_size_t(ctypes.sizeof(_Block))
    room = 1024
    while True:
        listed = (_Block * room)()
        count = ctypes.c_uint64(room)
        if found(device, listed, ctypes.byref(count), size) != OK:
            return []
        if count.value <= room:
            break
        room = count.value + 1024  # others may allocate meanwhile
    known = [
        Block(block.address, block.size, block.requested, block.device)
        for block in listed[: count.value]
    ]
    return sorted(known, key=lambda block: -block.size_bytes)


def reset_peaks(device: int = ALL_DEVICES) -> bool:
    """The pool's peaks begin anew at what there is now; those of torch.cuda do not."""
    found = function("vramstow_reset_peaks")
    return found is not None and found(device) == OK


def empty_cache(device: int = ALL_DEVICES) -> int:
    """Gives cached memory back to the device; says how much that was."""
    found = function("vramstow_empty_cache")
    released = ctypes.c_uint64()
    if found is None or found(device, ctypes.byref(released), None) != OK:
        return 0
    return released.value


def dump() -> str | None:
    """Writes what the trace holds by now into a file beside it; its path.

    None: there is no trace, or the file could not be written.
    """
    found = function("vramstow_dump")
    path = ctypes.create_string_buffer(4096)
    if found is None or found(path, ctypes.c_size_t(len(path))) != OK:
        return None
    return os.fsdecode(path.value)


def set_limit(limit: int | None, device: int = ALL_DEVICES) -> bool:
    """The most that the pool may hold; None: no limit. False: there is no pool."""
    found = function("vramstow_set_limit")
    return found is not None and found(device, ctypes.c_uint64(limit or 0)) == OK


def _hook_for(callback: Callable[[int], None]) -> object:
    def call(_context: int, why: int, lacking: int) -> None:
        if why == _PRESSURE:
            callback(lacking)

    return _Hook(call)


def on_pressure(callback: Callable[[int], None]) -> bool:
    """Calls back with the bytes that an allocation lacks, which is then tried again.

    Runs on the thread that allocates. What it raises is printed and goes no further. False:
    vramstow is not there, or has no room for one more.
    """
    found = function("vramstow_register_pressure_hook")
    if found is None:
        return False
    if callback in _hooks:
        return True
    hook = _hook_for(callback)
    if found(hook, None) != OK:
        return False
    _hooks[callback] = hook
    return True


_retired: list[object] = []  # a call of one of these may still be under way


def no_more_pressure(callback: Callable[[int], None]) -> bool:
    """Calls that callback no more; False: it was not registered."""
    found = function("vramstow_unregister_pressure_hook")
    hook = _hooks.pop(callback, None)
    if found is None or hook is None:
        return False
    _retired.append(hook)
    return found(hook, None) == OK
