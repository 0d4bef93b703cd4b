"""Queries every MILLISECONDS whether a copy of MEBIBYTES to the host has ended, as an engine that
swaps does. Prints whether it had at once, and the number of queries, for each of ten copies."""

import sys
import time

import torch

mebibytes, pause = int(sys.argv[1]), int(sys.argv[2]) / 1000
cache = torch.zeros(mebibytes << 18, device="cuda")
host = torch.empty(cache.shape, pin_memory=True)
side = torch.cuda.Stream()
done = torch.cuda.Event()
torch.cuda.synchronize()
for _ in range(10):
    with torch.cuda.stream(side):
        host.copy_(cache, non_blocking=True)
        done.record()
    at_once = done.query()
    turns = 0
    while not done.query() and turns < 200:
        time.sleep(pause)
        turns += 1
    print(at_once, turns)
