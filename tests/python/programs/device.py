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


def write(address: int, word: int) -> None:
    value = ctypes.c_uint64(word)
    _check(
        _driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.byref(value), ctypes.c_size_t(8))
    )


def read(address: int) -> int:
    value = ctypes.c_uint64()
    _check(
        _driver.cuMemcpyDtoH_v2(ctypes.byref(value), ctypes.c_uint64(address), ctypes.c_size_t(8))
    )
    return value.value


def free_bytes() -> int:
    """What the device has free, as cuMemGetInfo says it."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _check(_driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value
