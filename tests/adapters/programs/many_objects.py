"""Runs out of memory in a process with very many objects. argv: how many."""

import resource
import sys

import torch


class Small:
    __slots__ = ("next",)


kept = torch.empty(2 * 1024 * 1024, device="cuda")
heap: list[object] = []
for _ in range(int(sys.argv[1])):
    one = Small()
    one.next = heap
    heap.append(one)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
last = [torch.empty(2 * 1024 * 1024, device="cuda")]
try:
    torch.empty(128 * 1024 * 1024, device="cuda")
except torch.OutOfMemoryError:
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("grown", (after - before) // 1024)
