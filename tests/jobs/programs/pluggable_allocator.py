"""Train with a custom allocator in place of PyTorch's, or in one of its pools.

python pluggable_allocator.py LIBRARY [--pool]
"""

import argparse
import ctypes

import torch
from torch import nn

Allocator = torch.cuda.memory.CUDAPluggableAllocator


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="pluggable_allocator.c, compiled")
    parser.add_argument("--pool", action="store_true", help="only in a pool")
    return parser.parse_args()


def train(steps: int) -> None:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, steps + 1):
        loss = model(torch.randn(32, 64).cuda()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}", flush=True)


def main() -> None:
    arguments = parse_arguments()
    allocator = Allocator(arguments.library, "CountingMalloc", "CountingFree")
    if arguments.pool:
        pool = torch.cuda.MemPool(allocator.allocator())
        with torch.cuda.use_mem_pool(pool):
            train(3)
        del pool
    else:
        torch.cuda.memory.change_current_allocator(allocator)
        train(3)
    torch.cuda.synchronize()
    counts = ctypes.CDLL(arguments.library)
    print(f"allocations {counts.CountOfAllocations()}, frees {counts.CountOfFrees()}")


if __name__ == "__main__":
    main()
