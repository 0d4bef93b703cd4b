"""Runs out of memory, and forks: a child requests a census, and fails, while its parent does."""

import os
import sys
import threading

import torch
import vramstow

SIZE = 2 * 1024 * 1024
kept = torch.empty(SIZE, device="cuda")


def fail() -> int:
    try:
        torch.empty(512 * SIZE, device="cuda")
    except torch.OutOfMemoryError:
        return 1
    return 0


def fail_often(times: int, counts: list[int]) -> None:
    counts.append(sum(fail() for _ in range(times)))


def ask_in_child() -> None:
    told = vramstow.census()
    try:
        torch.empty(SIZE, device="cuda")
        sys.stdout.write("served in a child\n")
    except RuntimeError:
        pass
    os._exit(0 if told is None else 7)


counts: list[int] = []
worker = threading.Thread(target=fail_often, args=(40, counts))
worker.start()
states = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        ask_in_child()
    states.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
worker.join()
print("children", states)
print("failed", counts[0] + fail())
