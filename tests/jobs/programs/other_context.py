"""Work of another context, of this GPU or of a peer, writes to a block, which must not move."""

import sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

import cuda

SIZE = 8 << 20
BUSY = 7


def other_context(which: str) -> c_void_p:
    if which == "peer":
        return cuda.context_of(1)
    context, left = c_void_p(), c_void_p()
    cuda.call("cuCtxCreate_v4", byref(context), None, 0, 0)
    cuda.call("cuCtxPopCurrent_v2", byref(left))
    return context


def main() -> None:
    own = cuda.start(0)
    block = cuda.allocate(SIZE)
    other = other_context(sys.argv[1])
    cuda.enter(other)
    if sys.argv[1] == "peer":
        cuda.call("cuCtxEnablePeerAccess", own, 0)
    stream = cuda.new_stream()
    barrier = cuda.Barrier(stream)
    cuda.call("cuMemsetD8Async", c_uint64(block), 0xAA, c_size_t(SIZE), stream)
    cuda.enter(own)
    moved = cuda.vramstow.vramstow_offload(None)
    assert moved == BUSY, f"vramstow_offload gave {moved}"
    barrier.open()
    cuda.enter(other)
    cuda.synchronize(stream)
    cuda.enter(own)
    cuda.check(cuda.vramstow.vramstow_offload(None), "vramstow_offload")
    assert cuda.read(block, SIZE).count(b"\xaa") == SIZE
    print("done")


if __name__ == "__main__":
    main()
