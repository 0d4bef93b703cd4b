"""Asks for the free memory before its first request: asks_for_room.py MIB.

It prints the answer in MiB, allocates and fills MIB of memory, and prints the answer once more.
"""

from __future__ import annotations

import ctypes
import sys

MIB = 1 << 20
BLOCK = 4 * MIB

cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit(f"{name} returned {result}")


def tell() -> None:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    print("free", free.value // MIB, "of", total.value // MIB, flush=True)


def main() -> None:
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    tell()
    for _ in range(int(sys.argv[1]) * MIB // BLOCK):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(BLOCK))
        call("cuMemsetD32_v2", address, ctypes.c_uint32(1), ctypes.c_size_t(BLOCK // 4))
    call("cuCtxSynchronize")
    tell()


if __name__ == "__main__":
    main()
