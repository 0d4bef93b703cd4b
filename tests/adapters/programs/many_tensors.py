"""Allocates and frees tensors in several threads, and records each finished round.

many_tensors.py THREADS ROUNDS [DONE]

DONE is a file with a line for each finished round; so its reader knows what a trace must contain.
Each thread has sizes of its own, multiples of 512 bytes, so that PyTorch does not round them.
"""

from __future__ import annotations

import os
import sys
import threading

import torch

THREADS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
DONE = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if len(sys.argv) > 3 else -1


def work(number: int) -> None:
    for step in range(ROUNDS):
        size = 512 * (1 + number + THREADS * (step % 64))
        tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
        del tensor
        if DONE >= 0:
            os.write(DONE, f"{size}\n".encode())


torch.cuda.init()
threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", torch.cuda.memory_allocated(), torch.cuda.memory_stats()["allocation.all.allocated"])
