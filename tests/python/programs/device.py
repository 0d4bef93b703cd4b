"""Device memory without a framework: the driver, by ctypes."""

from __future__ import annotations

import ctypes

MIB = 1 << 20
_driver = ctypes.CDLL("libcuda.so.1")


def _check(result: int) -> None:
    if result != 0:
        raise MemoryError(f"CUDA error {result}")


_check(_driver.cuInit(0))
_context = ctypes.c_void_p()
_check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0))
_check(_driver.cuCtxSetCurrent(_context))


def allocate(size: int) -> int:
    address = ctypes.c_uint64()
    _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
    return address.value


def free(address: int) -> None:
    _check(_driver.cuMemFree_v2(ctypes.c_uint64(address)))
