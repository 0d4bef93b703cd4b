"""Reads on the host, after a free, the results of work that was submitted before it."""

import ctypes
import mmap
import sys
import threading
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import cuda

SIZE = 2 << 20
HOST, HOST_NUMA = 2, 3
PINNED, MANAGED = 1, 2
READ_WRITE = 3

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry put(.param .u64 to)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 0x07070707;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""


class Location(ctypes.Structure):
    _fields_ = [("type", c_uint), ("id", c_int)]


class PoolProperties(ctypes.Structure):
    """The struct CUmemPoolProps."""

    _fields_ = [
        *[("type", c_uint), ("handles", c_uint), ("location", Location)],
        *[("security", c_void_p), ("most", c_size_t), ("reserved", ctypes.c_ubyte * 64)],
    ]


class ChunkProperties(ctypes.Structure):
    """The struct CUmemAllocationProp."""

    _fields_ = [
        *[("type", c_uint), ("handles", c_uint), ("location", Location)],
        *[("security", c_void_p), ("flags", ctypes.c_ubyte * 8)],
    ]


class AccessDescription(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", c_uint)]


def of_pool(kind: int, location: Location, stream: c_void_p) -> int:
    properties = PoolProperties(type=kind, location=location)
    pool, address = c_void_p(), c_uint64()
    cuda.call("cuMemPoolCreate", byref(pool), byref(properties))
    cuda.call("cuMemAllocFromPoolAsync", byref(address), c_size_t(SIZE), pool, stream)
    cuda.synchronize(stream)
    return address.value


def of_chunk(location: Location) -> int:
    properties = ChunkProperties(type=PINNED, location=location)
    handle, address = c_uint64(), c_uint64()
    cuda.call("cuMemCreate", byref(handle), c_size_t(SIZE), byref(properties), c_uint64(0))
    cuda.call(
        "cuMemAddressReserve", byref(address), c_size_t(SIZE), c_size_t(0), c_uint64(0), c_uint64(0)
    )
    cuda.call("cuMemMap", address, c_size_t(SIZE), c_size_t(0), handle, c_uint64(0))
    access = (AccessDescription * 2)()
    access[0] = AccessDescription(Location(1, 0), READ_WRITE)
    access[1] = AccessDescription(location, READ_WRITE)
    cuda.call("cuMemSetAccess", address, c_size_t(SIZE), access, c_size_t(2))
    return address.value


def put_by_kernel(address: int, stream: c_void_p) -> None:
    module, function = c_void_p(), c_void_p()
    cuda.call("cuModuleLoadData", byref(module), PTX)
    cuda.call("cuModuleGetFunction", byref(function), module, b"put")
    argument = c_uint64(address)
    arguments = (c_void_p * 1)(ctypes.addressof(argument))
    sizes = [c_uint(1)] * 6
    cuda.call("cuLaunchKernel", function, *sizes, c_uint(0), stream, arguments, None)


def main() -> None:
    cuda.start()
    memory = sys.argv[1]
    block = cuda.allocate(SIZE)
    stream = cuda.new_stream()
    kept = mmap.mmap(-1, SIZE)
    if memory == "pageable":
        address = ctypes.addressof(ctypes.c_char.from_buffer(kept))
    elif memory == "host-pool":
        address = of_pool(PINNED, Location(HOST, 0), stream)
    elif memory == "managed-pool":
        address = of_pool(MANAGED, Location(1, 0), stream)
    else:
        address = of_chunk(Location(HOST if memory == "host-chunk" else HOST_NUMA, 0))
    ctypes.memset(address, 1, 4)
    cuda.call("cuMemsetD8_v2", c_uint64(block), 7, c_size_t(SIZE))
    cuda.call("cuCtxSynchronize")
    barrier = cuda.Barrier(stream)
    if memory == "pageable":
        put_by_kernel(address, stream)
    else:
        cuda.call("cuMemcpyAsync", c_uint64(address), c_uint64(block), c_size_t(4), stream)
    timer = threading.Timer(0.2, barrier.open)
    timer.start()
    assert ctypes.string_at(address, 4) == b"\x01" * 4, (
        "it is no longer to be seen whether it waits"
    )
    cuda.free(block)
    assert ctypes.string_at(address, 4) == b"\x07" * 4, "the free did not wait for what work wrote"
    timer.join()
    cuda.synchronize(stream)
    print("done")


if __name__ == "__main__":
    main()
