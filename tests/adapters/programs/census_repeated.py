"""Runs out of memory often, so that memory leaks of a census would add up. argv: how often."""

import contextlib
import gc
import resource
import sys

import torch

SIZE = 2 * 1024 * 1024
kept = {"a": [torch.empty(SIZE, device="cuda") for _ in range(8)]}
model = torch.nn.Linear(256, 256, device="cuda")
loss = model(torch.ones(8, 256, device="cuda")).sum()


def fail(times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(torch.OutOfMemoryError):
            torch.empty(512 * SIZE, device="cuda")


def state() -> tuple[int, int, list[int]]:
    gc.collect()
    references = [sys.getrefcount(one) for one in (kept, kept["a"], *kept["a"], model, loss)]
    return len(gc.get_objects()), torch.cuda.memory_allocated(), references


fail(10)
before = state()
before = state()  # includes what the first census leaves behind
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fail(int(sys.argv[1]))
print("grown", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) // 1024)
after = state()
print("objects", after[0] - before[0], "bytes", after[1] - before[1])
print("same references", after[2] == before[2])
