"""Uses device memory of which every byte is known, and checks it again and again.

shares.py MIB ROUNDS SEED [SLEEP [DEVICE]]. It allocates blocks up to MIB in all, and in each round
checks and rewrites every block, and replaces some. Between rounds it sleeps for SLEEP seconds, or
until it gets SIGUSR2. It ends with status 3 at the first wrong byte, and with 4 if memory runs out.
SIGUSR1 ends it with status 0 without more work for the GPU. With DEVICE it uses that GPU, and waits
after each round for a line, of which "end" ends it.
"""

from __future__ import annotations

import ctypes
import random
import signal
import sys

MIB = 1 << 20
OUT_OF_MEMORY = 2

cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result == OUT_OF_MEMORY:
        print("out of memory", flush=True)
        sys.exit(4)
    if result != 0:
        print(f"{name} returned {result}", flush=True)
        sys.exit(5)


class Block:
    """Memory in which every word has the same value."""

    def __init__(self, size: int, value: int) -> None:
        self.size = size
        self.address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(size))
        self.fill(value)

    def fill(self, value: int) -> None:
        self.value = value
        words = ctypes.c_size_t(self.size // 4)
        call("cuMemsetD32_v2", self.address, ctypes.c_uint32(value), words)

    def check(self) -> None:
        seen = (ctypes.c_uint32 * (self.size // 4))()
        call("cuMemcpyDtoH_v2", seen, self.address, ctypes.c_size_t(self.size))
        if bytes(seen) != self.value.to_bytes(4, "little") * (self.size // 4):
            print(f"wrong bytes at {self.address.value:#x}", flush=True)
            sys.exit(3)

    def free(self) -> None:
        call("cuMemFree_v2", self.address)


def main() -> None:
    total, rounds, seed = (int(text) for text in sys.argv[1:4])
    pause = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    device = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    chance = random.Random(seed)
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    blocks: list[Block] = []
    for number in range(rounds):
        while (left := total - sum(block.size // MIB for block in blocks)) > 0:
            size = min(left, chance.choice((2, 4, 16, 32)))
            blocks.append(Block(size * MIB, chance.getrandbits(32)))
        for block in blocks:
            block.check()
            block.fill(chance.getrandbits(32))
        print("round", number, flush=True)
        for block in chance.sample(blocks, len(blocks) // 4):
            block.free()
            blocks.remove(block)
        signal.sigtimedwait([signal.SIGUSR2], pause)
        if len(sys.argv) > 5 and sys.stdin.readline() != "go\n":
            break
    for block in blocks:
        block.check()
    print("all bytes right", flush=True)


if __name__ == "__main__":
    main()
