"""Computes a value on the simulated GPU long after the launch that it belongs to.

late_task.py MIB. It fills MIB of memory, waits for SIGUSR2, before which another program may use
the GPU, and then appends a task to its last work, as PyTorch's operators do in a simulated run. It
ends with status 3 if the memory does not have what the task has written.
"""

from __future__ import annotations

import ctypes
import signal
import sys

MIB = 1 << 20
WRITES = 2
cuda = ctypes.CDLL("libcuda.so.1")
Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Range(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("use", ctypes.c_int))


class Task(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("ranges", ctypes.POINTER(Range)),
        ("range_count", ctypes.c_size_t),
        ("bytes", ctypes.c_uint64),
        ("operations", ctypes.c_uint64),
        ("run", Run),
        ("drop", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("traits", ctypes.c_int),
        ("reads_uncomputed", ctypes.c_void_p),
    )


def call(name: str, *arguments: object) -> None:
    if result := getattr(cuda, name)(*arguments):
        sys.exit(f"{name} returned {result}")


def main() -> int:
    size = int(sys.argv[1]) * MIB
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    call("cuMemsetD8_v2", address, ctypes.c_ubyte(1), ctypes.c_size_t(size))
    print("ready", flush=True)
    signal.sigwait([signal.SIGUSR2])
    cuda.vramstowSimulatorShadow.restype = ctypes.c_int64
    target = address.value + cuda.vramstowSimulatorShadow()

    def write(_: object) -> int:
        ctypes.memset(target, 7, MIB)
        return 0

    run = Run(write)
    written = Range(address.value, MIB, WRITES)
    task = Task(ctypes.sizeof(Task), b"late", ctypes.pointer(written), 1, MIB, 0, run)
    call("vramstowSimulatorAppend", None, ctypes.byref(task))
    seen = (ctypes.c_ubyte * (2 * MIB))()
    call("cuMemcpyDtoH_v2", seen, address, ctypes.c_size_t(2 * MIB))
    right = bytes(seen) == b"\x07" * MIB + b"\x01" * MIB
    print("all bytes right" if right else "wrong bytes", flush=True)
    return 0 if right else 3


if __name__ == "__main__":
    raise SystemExit(main())
