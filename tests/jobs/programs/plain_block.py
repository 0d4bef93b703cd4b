"""Allocates a block, writes to it, reads it and frees it."""

import cuda

SIZE = 8 << 20


def main() -> None:
    cuda.start()
    block = cuda.allocate(SIZE)
    data = bytes(range(256)) * (SIZE // 256)
    cuda.write(block, data)
    assert cuda.read(block, SIZE) == data
    cuda.free(block)
    print("done")


if __name__ == "__main__":
    main()
