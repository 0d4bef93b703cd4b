"""Calls the CUDA driver like a program without any framework, and vramstow's C API."""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

# Values of CUresult and of CUpointer_attribute.
INVALID_VALUE = 1
CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER = 1, 2, 3, 4
BUFFER_ID, IS_MANAGED, DEVICE_ORDINAL, MAPPED = 7, 8, 9, 13
ON_HOST, ON_DEVICE = 1, 2
HOST_LOCATION = 2

driver = ctypes.CDLL("libcuda.so.1")
vramstow = ctypes.CDLL(None)


def check(result: int, what: str) -> None:
    if result != 0:
        raise SystemExit(f"{what} gave {result}")


def call(name: str, *arguments: object) -> None:
    check(getattr(driver, name)(*arguments), name)


def start(device: int = 0) -> c_void_p:
    """Makes the device's primary context current."""
    context = c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    call("cuCtxSetCurrent", context)
    return context


def allocate(size: int) -> int:
    address = c_uint64()
    call("cuMemAlloc_v2", byref(address), c_size_t(size))
    return address.value


def free(address: int) -> None:
    call("cuMemFree_v2", c_uint64(address))


def write(address: int, data: bytes) -> None:
    call("cuMemcpyHtoD_v2", c_uint64(address), data, c_size_t(len(data)))


def read(address: int, size: int) -> bytes:
    data = ctypes.create_string_buffer(size)
    call("cuMemcpyDtoH_v2", data, c_uint64(address), c_size_t(size))
    return data.raw


def attribute(number: int, address: int) -> tuple[int, int]:
    """Returns the result and the value of cuPointerGetAttribute."""
    value = c_uint64()
    result = driver.cuPointerGetAttribute(byref(value), number, c_uint64(address))
    signed = number == DEVICE_ORDINAL
    return result, c_int(value.value & 0xFFFFFFFF).value if signed else value.value


def attributes(numbers: list[int], address: int) -> tuple[int, list[int]]:
    values = [c_uint64() for _ in numbers]
    places = (c_void_p * len(numbers))(*[ctypes.addressof(value) for value in values])
    asked = (c_uint * len(numbers))(*numbers)
    result = driver.cuPointerGetAttributes(len(numbers), asked, places, c_uint64(address))
    return result, [value.value for value in values]


class Location(ctypes.Structure):
    _fields_ = [("type", c_uint), ("id", c_int)]


def access(location_type: int, address: int) -> int:
    """Returns the access to mapped memory at this location: 3 is reading and writing."""
    flags = c_uint64()
    call("cuMemGetAccess", byref(flags), byref(Location(location_type, 0)), c_uint64(address))
    return flags.value


def context_of(device: int) -> c_void_p:
    """Returns the device's primary context, without changing the current context."""
    context = c_void_p()
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    return context


def enter(context: c_void_p) -> None:
    call("cuCtxSetCurrent", context)


def new_stream() -> c_void_p:
    """Returns a stream of the current context that is not ordered with any other."""
    stream = c_void_p()
    call("cuStreamCreate", byref(stream), 1)
    return stream


def synchronize(stream: c_void_p) -> None:
    call("cuStreamSynchronize", stream)


class Barrier:
    """Work on a stream that does not end before `open` is called."""

    def __init__(self, stream: c_void_p) -> None:
        self.opened = threading.Event()
        self.function = ctypes.CFUNCTYPE(None, c_void_p)(lambda _: self.wait())
        call("cuLaunchHostFunc", stream, self.function, None)

    def wait(self) -> None:
        self.opened.wait(60)

    def open(self) -> None:
        self.opened.set()


class Block(ctypes.Structure):
    """The struct vramstow_framework_block."""

    _fields_ = [
        *[(name, c_uint64) for name in ("address", "size", "requested", "stream", "pool")],
        *[(name, c_int) for name in ("device", "state", "is_large")],
    ]  # fmt: skip


class Framework:
    """Uses the pool like a framework's adapter (include/vramstow/framework.h)."""

    def __init__(self, device: int) -> None:
        get = vramstow.vramstow_get_table
        get.restype = c_void_p
        pool, version, head_bytes = 1, 1, 16
        table = (c_uint64 * 6).from_address(get(pool, version) + head_bytes)
        self.handle = c_int()
        open_pool = ctypes.CFUNCTYPE(c_int, c_int, c_void_p)(table[0])
        check(open_pool(device, ctypes.addressof(self.handle)), "open")
        self._allocate = ctypes.CFUNCTYPE(
            c_int, c_int, c_uint64, c_uint64, c_uint64, c_void_p, c_void_p
        )(table[1])
        self._free = ctypes.CFUNCTYPE(c_int, c_uint64, c_void_p)(table[3])
        self._record_use = ctypes.CFUNCTYPE(c_int, c_uint64, c_uint64)(table[4])

    def allocate(self, size: int) -> int | None:
        """Returns a block of the default stream, or None if there is no memory."""
        block, served = Block(), c_int()
        places = (ctypes.addressof(block), ctypes.addressof(served))
        return block.address if self._allocate(self.handle, size, 0, 0, *places) == 0 else None

    def free(self, address: int) -> None:
        block = Block()
        check(self._free(address, ctypes.addressof(block)), "free")

    def record_use(self, address: int, stream: c_void_p) -> None:
        check(self._record_use(address, stream.value or 0), "record_use")
