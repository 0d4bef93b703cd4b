"""Does what shares.py does, in one process on two GPUs at once.

shares_both.py MIB ROUNDS SEED. MIB is the size of the blocks on each GPU. SIGUSR1 ends it with
status 0 without more work for the GPUs.
"""

from __future__ import annotations

import ctypes
import random
import signal
import sys

from shares import MIB, Block, call


def main() -> None:
    total, rounds, seed = (int(text) for text in sys.argv[1:4])
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
    chance = random.Random(seed)
    call("cuInit", 0)
    blocks: dict[int, list[Block]] = {}
    contexts: dict[int, ctypes.c_void_p] = {}
    for device in range(2):
        contexts[device] = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(contexts[device]), device)
        blocks[device] = []
    for number in range(rounds):
        for device, context in contexts.items():
            call("cuCtxSetCurrent", context)
            while (left := total - sum(block.size // MIB for block in blocks[device])) > 0:
                size = min(left, chance.choice((2, 4, 16, 32)))
                blocks[device].append(Block(size * MIB, chance.getrandbits(32)))
            for block in blocks[device]:
                block.check()
                block.fill(chance.getrandbits(32))
            for block in chance.sample(blocks[device], len(blocks[device]) // 4):
                block.free()
                blocks[device].remove(block)
        print("round", number, flush=True)
    for device, context in contexts.items():
        call("cuCtxSetCurrent", context)
        for block in blocks[device]:
            block.check()
    print("all bytes right", flush=True)


if __name__ == "__main__":
    main()
