"""A job whose requests test PyTorch's allocator: many sizes, two streams, flushes, the limit.

Usage: allocator_history.py SEED FRACTION SNAPSHOT. Writes the history that PyTorch recorded.
"""

from __future__ import annotations

import random
import sys

import torch

KIB = 1024
MIB = 1024 * KIB


def size(chance: random.Random) -> int:
    kind = chance.random()
    if kind < 0.4:
        return chance.randrange(1, 200 * KIB)
    if kind < 0.7:
        return chance.randrange(200 * KIB, 3 * MIB)
    if kind < 0.95:
        return chance.randrange(3 * MIB, 40 * MIB)
    return chance.randrange(40 * MIB, 120 * MIB)


def main() -> None:
    seed, fraction, snapshot = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    if fraction < 1:
        torch.cuda.set_per_process_memory_fraction(fraction)
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    chance = random.Random(seed)
    side = torch.cuda.Stream()
    blocks: list[torch.Tensor] = []
    for _ in range(2500):
        if blocks and (chance.random() < 0.48 or len(blocks) > 120):
            block = blocks.pop(chance.randrange(len(blocks)))
            if chance.random() < 0.1:
                block.record_stream(side)
            del block
            continue
        try:
            with torch.cuda.stream(side if chance.random() < 0.15 else torch.cuda.default_stream()):
                blocks.append(torch.empty(size(chance), dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            for _ in range(min(len(blocks), 10)):
                blocks.pop(chance.randrange(len(blocks)))
        if chance.random() < 0.003:
            torch.cuda.empty_cache()
    torch.cuda.memory._dump_snapshot(snapshot)
    print("step 1")


if __name__ == "__main__":
    main()
