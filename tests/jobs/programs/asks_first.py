"""Asks for memory after pauses in which it is idle, and submits work a moment later.

asks_first.py MIB MORE ROUNDS SECONDS. It holds MIB. In each round it sleeps, and then allocates
MORE MiB, uses them and frees them. It ends with status 3 at a wrong byte.
"""

from __future__ import annotations

import ctypes
import sys
import time

from shares import MIB, Block, call

MOMENT = 0.02  # seconds; much less than after which a program counts as idle


class LateBlock(Block):
    """A block that is not filled at once."""

    def fill(self, value: int) -> None:
        time.sleep(MOMENT)
        super().fill(value)


held, more, rounds = (int(text) for text in sys.argv[1:4])
context = ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
blocks = [Block(16 * MIB, number) for number in range(held // 16)]
for number in range(rounds):
    print("round", number, flush=True)
    time.sleep(float(sys.argv[4]))
    block = LateBlock(more * MIB, number)
    block.check()
    block.free()
for block in blocks:
    block.check()
print("all bytes right", flush=True)
