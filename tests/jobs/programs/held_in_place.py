"""A block that a network card may access by its physical address stays; another block moves."""

from ctypes import byref, c_uint, c_uint64

import cuda

SIZE = 8 << 20
SYNC_MEMOPS = 6
NOT_SUPPORTED = 801
HELD = 12


def hold(address: int) -> int:
    return cuda.driver.cuPointerSetAttribute(byref(c_uint(1)), SYNC_MEMOPS, c_uint64(address))


def main() -> None:
    cuda.start()
    held, other = cuda.allocate(SIZE), cuda.allocate(SIZE)
    assert hold(held + 4096) == 0
    # The result is HELD, because one block could not be evicted.
    assert cuda.vramstow.vramstow_offload(None) == HELD
    assert cuda.access(cuda.HOST_LOCATION, other) == 3
    assert cuda.access(cuda.HOST_LOCATION, held) == 0
    assert cuda.access(cuda.HOST_LOCATION, held + SIZE - 1) == 0
    assert hold(other) == NOT_SUPPORTED
    cuda.check(cuda.vramstow.vramstow_resume(None), "vramstow_resume")
    assert hold(other) == 0
    print("done")


if __name__ == "__main__":
    main()
