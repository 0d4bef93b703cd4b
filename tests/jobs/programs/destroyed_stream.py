"""Uses blocks on a stream that the program has destroyed before they are freed."""

# vramstow must not pass the destroyed stream to the driver: the simulated driver then ends the
# process.

from ctypes import c_size_t, c_uint64

import cuda

SIZE = 100 << 20


def main() -> None:
    cuda.start()
    pool = cuda.Framework(0)
    gone = cuda.new_stream()
    cuda.call("cuStreamDestroy_v2", gone)
    for _ in range(3):
        block = pool.allocate(SIZE)
        assert block is not None
        cuda.call("cuMemsetD8_v2", c_uint64(block), 0xAA, c_size_t(SIZE))
        pool.record_use(block, gone)
        pool.free(block)
    # This block needs the memory of the freed blocks, too. The pool can reuse it once all work is
    # done.
    whole = pool.allocate(4 * SIZE)
    assert whole is not None, "the memory is lost"
    # The program destroys the stream again by mistake, and the driver refuses that.
    assert cuda.driver.cuStreamDestroy_v2(gone) != 0
    pool.record_use(whole, gone)
    pool.free(whole)
    assert pool.allocate(4 * SIZE) is not None, "the memory is lost"
    print("done")


if __name__ == "__main__":
    main()
