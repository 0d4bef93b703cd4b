"""Allocates through a library that holds a lock during the call. argv: the library, with or without
Python's lock."""

import ctypes
import gc
import sys
import threading

import torch

BLOCK = 8 * 1024 * 1024  # number of floats, which take 32 MiB
ROUNDS = 30
gc.set_threshold(1_000_000)  # Python does not collect by itself
torch.cuda.init()
ctypes.CDLL(torch._C.__file__, ctypes.RTLD_GLOBAL)
ctypes.CDLL(torch.__path__[0] + "/lib/libtorch_cpu.so", ctypes.RTLD_GLOBAL)
kind = ctypes.PyDLL if sys.argv[2] == "with" else ctypes.CDLL
ask = kind(sys.argv[1]).locked_empty
ask.argtypes = [ctypes.c_int64]


class Holder:
    def __init__(self) -> None:
        self.cycle = self
        self.data = torch.empty(BLOCK, device="cuda")

    def __del__(self) -> None:
        ask(256)  # takes the lock that the thread without memory may hold


results = set()


def work() -> None:
    for _ in range(ROUNDS):
        try:
            Holder()
        except torch.OutOfMemoryError:
            gc.collect()
        results.add(ask(4 * BLOCK))


workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("done", -1 in results, 0 in results)
