"""A stream of the second GPU reads a block of the first one, which is freed meanwhile: the block
must not be reused before the stream is done."""

from ctypes import c_size_t, c_uint64

import cuda

SIZE = 300 << 20  # more than half of a GPU's memory


def main() -> None:
    own = cuda.start(0)
    pool = cuda.Framework(0)
    block = pool.allocate(SIZE)
    assert block is not None
    cuda.call("cuMemsetD8_v2", c_uint64(block), 0xAA, c_size_t(SIZE))
    other = cuda.context_of(1)
    cuda.enter(other)
    copy = cuda.allocate(SIZE)
    stream = cuda.new_stream()
    barrier = cuda.Barrier(stream)
    cuda.call(
        "cuMemcpyPeerAsync", c_uint64(copy), other, c_uint64(block), own, c_size_t(SIZE), stream
    )
    cuda.enter(own)
    pool.record_use(block, stream)
    pool.free(block)
    second = pool.allocate(SIZE)
    if second is not None:
        cuda.call("cuMemsetD8_v2", c_uint64(second), 0x55, c_size_t(SIZE))
    barrier.open()
    cuda.enter(other)
    cuda.synchronize(stream)
    seen = cuda.read(copy, SIZE)
    assert seen.count(b"\xaa") == SIZE, f"{SIZE - seen.count(0xAA)} bytes are another block's"
    cuda.enter(own)
    if second is None:
        second = pool.allocate(SIZE)
    assert second is not None, "the memory is lost"
    print("done")


if __name__ == "__main__":
    main()
