"""Copies blocks between two GPUs, by each call that names two addresses and no context."""

from ctypes import c_size_t, c_uint64, c_void_p

import cuda

SIZE = 6 << 20


def main() -> None:
    first = cuda.start(0)
    second = cuda.context_of(1)
    source = cuda.allocate(SIZE)
    cuda.enter(second)
    target = cuda.allocate(SIZE)
    stream = cuda.new_stream()
    calls: list[tuple[str, list[c_void_p]]] = [
        ("cuMemcpy", []),
        ("cuMemcpyDtoD_v2", []),
        ("cuMemcpyAsync", [stream]),
        ("cuMemcpyDtoDAsync_v2", [stream]),
        ("cuMemcpyAsync_ptsz", [stream]),
        ("cuMemcpyDtoD_v2_ptds", []),
    ]
    for number, (name, streams) in enumerate(calls):
        cuda.enter(first)
        cuda.call("cuMemsetD8_v2", c_uint64(source), number + 1, c_size_t(SIZE))
        cuda.call("cuCtxSynchronize")
        cuda.enter(second)
        cuda.call(name, c_uint64(target), c_uint64(source), c_size_t(SIZE), *streams)
        cuda.call("cuCtxSynchronize")
        assert cuda.read(target, SIZE) == bytes([number + 1]) * SIZE, name
    print("done")


if __name__ == "__main__":
    main()
