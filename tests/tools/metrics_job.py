"""A job for tests of metrics: executes the commands on its standard input, line by line.

take BYTES, free INDEX, cycle BYTES COUNT, oom, fork, quit. Each is answered by a line on stdout.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

cuda = ctypes.CDLL("libcuda.so.1")


def take(size: int) -> int | None:
    address = ctypes.c_uint64()
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
        return None
    return address.value


def fork() -> str:
    """Forks, and returns how many sockets the child has."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        sockets = sum(Path(name).is_socket() for name in Path("/proc/self/fd").iterdir())
        os.write(write, str(sockets).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    return os.read(read, 100).decode()


def main() -> None:
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    taken: list[int] = []
    for line in sys.stdin:
        word, *numbers = line.split()
        answer = "done"
        if word == "take":
            address = take(int(numbers[0]))
            assert address is not None
            taken.append(address)
        elif word == "free":
            assert cuda.cuMemFree_v2(ctypes.c_uint64(taken[int(numbers[0])])) == 0
        elif word == "cycle":
            for _ in range(int(numbers[1])):
                address = take(int(numbers[0]))
                assert cuda.cuMemFree_v2(ctypes.c_uint64(address)) == 0
        elif word == "oom":
            assert take(4 << 30) is None
        elif word == "fork":
            answer = fork()
        elif word == "quit":
            break
        print(answer, flush=True)


main()
