"""Calls the preloaded library through ctypes: the C API of vramstow.h.

Without a preloaded vramstow, and before it serves memory, queries return None or an empty result,
and actions return False. Sizes are bytes. Devices have CUDA's numbers; ALL_DEVICES stands for their
sum.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from types import FrameType

    import torch

# The number of a GPU, or its name or object in PyTorch.
Device = Union[int, str, "torch.device"]

ALL_DEVICES = -1
OK = 0
_PRESSURE = 0
_MOST_DEVICES = 64


@dataclass(frozen=True)
class Stats:
    """The numbers of vramstow_stats in vramstow.h, in its order.

    Without the pool they describe PyTorch's own allocator, and numbers that only the pool has are
    None. With the pool `retries` is None.
    """

    allocated_bytes: int
    requested_bytes: int
    reserved_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    pending_bytes: int
    limit_bytes: int | None
    live_blocks: int
    allocations: int
    frees: int
    misses: int | None
    released_bytes: int
    fence_wait_ns: int | None
    out_of_memory: int
    host_bytes: int | None
    offloaded_bytes: int | None
    paused_bytes: int | None
    moved_out_bytes: int | None
    moved_back_bytes: int | None
    offload_host_bytes: int | None
    fence_waits: int | None
    offload_host_released_bytes: int | None
    retries: int | None


@dataclass(frozen=True)
class Block:
    """A live block. It has `size_bytes`, of which the program requested `requested_bytes`."""

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
_NOT_KNOWN = 2**64 - 1
_NO = ("0", "no", "off", "false")  # the words by which the library's options are off
_Hook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
_global = ctypes.CDLL(None)
_process: ctypes.CDLL = _global
_file: str | None = None  # the library's path; None if it is preloaded
# Holds references to the registered callbacks, which the library may still call shortly after they
# were removed.
_hooks: dict[Callable[[int], None], object] = {}


def is_preloaded() -> bool:
    """True if vramstow has been in this process since its start."""
    return hasattr(_global, "vramstow_version")


def use(loaded: ctypes.CDLL | None, file: str) -> None:
    """Uses this library, which was not preloaded, from now on; None selects the preloaded one."""
    global _process, _file
    _process = _global if loaded is None else loaded
    _file = None if loaded is None else file


def with_lock(name: str) -> Callable[..., int]:
    """Returns the library's function. A call of it does not release Python's lock (the GIL)."""
    return getattr(ctypes.PyDLL(_file), name)


def function(name: str) -> Callable[..., int] | None:
    """Returns the preloaded library's function; None if there is none."""
    return getattr(_process, name, None)


def version() -> str | None:
    """Returns the preloaded library's version; None if vramstow is not preloaded."""
    found = function("vramstow_version")
    if found is None:
        return None
    found.restype = ctypes.c_char_p  # type: ignore[attr-defined]
    return found().decode()  # type: ignore[attr-defined]


def why_not() -> str | None:
    """Returns a sentence that says why there are no numbers; None if there are numbers."""
    if version() is None:
        return (
            "vramstow is not preloaded into this process: start it with vramstow run -- "
            f"{os.path.basename(sys.executable)} …"
        )
    if stats() is not None:
        return None
    if os.environ.get("VRAMSTOW_POOL") == "on":
        return "vramstow's pool has served no memory yet: none was requested so far"
    if os.environ.get("VRAMSTOW_LEVEL") == "segments":
        return "PyTorch's tensors are not observed in this process: leave --level=segments out"
    if not _has_trace() and not os.environ.get("VRAMSTOW_METRICS"):
        return "nothing is recorded in this process: leave --no-trace out, or add --pool=on"
    return (
        "no device memory of PyTorch is recorded in this process: PyTorch has not requested any "
        "yet, or it is not observed (vramstow run has printed the reason)"
    )


def _has_trace() -> bool:
    return os.environ.get("VRAMSTOW_TRACE", "1").lower() not in _NO


def why_no_trace() -> str:
    """Returns why a process under vramstow run has no trace; the text completes a sentence."""
    if not _has_trace():
        return "the program was started with vramstow run --no-trace"
    return "the program has not used CUDA yet, or its trace cannot be copied"


def _number_of(device: Device) -> int:
    """Returns the number of a device of the API. Raises TypeError if it is no GPU."""
    if isinstance(device, int):
        return device
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(device, (str, torch.device)):
        raise TypeError(f"{device!r} is no device: give its number, such as 0")
    chosen = torch.device(device)
    if chosen.type != "cuda":
        raise TypeError(f"{device!r} is no GPU")
    if chosen.index is not None:
        return int(chosen.index)
    return int(torch.cuda.current_device()) if torch.cuda.is_initialized() else 0


def stats(device: Device = ALL_DEVICES) -> Stats | None:
    """Returns the numbers of the pool, or else of PyTorch's allocator; None if there are none."""
    device = _number_of(device)
    found = function("vramstow_get_stats")
    numbers = (ctypes.c_uint64 * _COUNT)()
    size = ctypes.c_size_t(ctypes.sizeof(numbers))
    if found is None or found(device, numbers, size) != OK:
        return None
    return Stats(*(None if number == _NOT_KNOWN else number for number in numbers))


def has_pool() -> bool:
    """True if a pool of vramstow serves memory in this process."""
    now = stats()
    return now is not None and now.misses is not None


def active() -> bool:
    """True if there are numbers of device memory in this process."""
    return stats() is not None


def _blocks_of_pytorch(device: int) -> list[Block]:
    """Returns the live blocks that PyTorch's own allocator lists."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return []
    known = []
    for segment in torch.cuda.memory_snapshot():
        if device not in (ALL_DEVICES, segment["device"]):
            continue
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                asked = block.get("requested_size", block["size"])
                known.append(Block(address, block["size"], asked, segment["device"]))
            address += block["size"]
    return known


def blocks(device: Device = ALL_DEVICES) -> list[Block]:
    """Returns the live blocks of the pool, or else of PyTorch's allocator, the largest first."""
    device = _number_of(device)
    if not has_pool():
        known = _blocks_of_pytorch(device) if active() else []
        return sorted(known, key=lambda block: -block.size_bytes)
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
        room = count.value + 1024  # room for allocations of other threads meanwhile
    known = [
        Block(block.address, block.size, block.requested, block.device)
        for block in listed[: count.value]
    ]
    return sorted(known, key=lambda block: -block.size_bytes)


def reset_peaks(device: Device = ALL_DEVICES) -> bool:
    """Sets the peaks to the current numbers. The peaks of torch.cuda do not change."""
    found = function("vramstow_reset_peaks")
    return found is not None and found(_number_of(device)) == OK


def empty_cache(device: Device = ALL_DEVICES) -> int:
    """Returns cached memory to the device; returns the number of bytes.

    Host memory that held paused or offloaded memory, and is empty now, is freed as well.
    """
    found = function("vramstow_empty_cache")
    released = ctypes.c_uint64()
    if found is None or found(_number_of(device), ctypes.byref(released), None) != OK:
        return 0
    return released.value


def dump() -> str | None:
    """Copies the trace to a new file in the same folder, and returns its path.

    Returns None if there is no trace, or if the file cannot be written.
    """
    found = function("vramstow_dump")
    path = ctypes.create_string_buffer(4096)
    if found is None or found(path, ctypes.c_size_t(len(path))) != OK:
        return None
    return os.fsdecode(path.value)


def name_whole(text: str, copy: str) -> str:
    """Replaces the name of a copy that dump() made by that of the whole trace, which stays."""
    return text.replace(copy, re.sub(r"-dump(-[0-9]+)?\.stow$", ".stow", copy))


def set_limit(limit: int | None, device: Device = ALL_DEVICES) -> bool:
    """Sets the limit of the pool's bytes; None means no limit. Returns False without a pool."""
    found = function("vramstow_set_limit")
    number = _number_of(device)
    if found is None or found(number, ctypes.c_uint64(limit or 0)) != OK:
        return False
    _tell_line_of_limit(number, sys._getframe(1))
    return True


def _tell_line_of_limit(device: int, frame: FrameType) -> None:
    """Writes into the trace which line limited the pool, as the analysis writes lines."""
    mark = function("vramstow_mark")
    if mark is None:
        return
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # exists since Python 3.11
    place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {name}"
    for one in range(_MOST_DEVICES) if device == ALL_DEVICES else [device]:
        if stats(one) is not None:
            mark(f"vramstow.fact device.{one}.limited_at {place}".encode())


def _hook_for(callback: Callable[[int], None]) -> object:
    def call(_context: int, why: int, lacking: int) -> None:
        if why == _PRESSURE:
            callback(lacking)

    return _Hook(call)


def on_pressure(callback: Callable[[int], None]) -> bool:
    """Registers a callback for failing allocations. Its argument is the number of missing bytes.

    It runs on the thread that allocates; then vramstow tries the allocation again. If it raises an
    exception, Python prints it and the program continues. Returns False without vramstow's pool
    (--pool=on), or if 32 callbacks are registered already.
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


_retired: list[object] = []  # removed callbacks, in which a thread may still be


def no_more_pressure(callback: Callable[[int], None]) -> bool:
    """Removes the callback. Returns False if it was not registered."""
    found = function("vramstow_unregister_pressure_hook")
    hook = _hooks.pop(callback, None)
    if found is None or hook is None:
        return False
    _retired.append(hook)
    return found(hook, None) == OK
