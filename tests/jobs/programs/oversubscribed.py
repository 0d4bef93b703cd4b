"""A training loop that retains more memory than the GPU has, and checks every byte of it.

At its end it prints how many mappings its process had before that memory and, at most, with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    count = options.megabytes // 32
    wanted = [torch.full((8 << 20,), float(i + 1)) for i in range(count)]
    torch.zeros(1, device="cuda")
    before = mappings()
    kept = [part.to("cuda") for part in wanted]
    most = mappings()
    for step in range(options.steps):
        for part, values in zip(kept, wanted, strict=True):
            assert torch.equal(part.cpu(), values), "memory that moved has changed"
        # Every second part is freed and allocated again, so that freed memory is reused on the GPU
        # and on the host.
        for i in range(0, count, 2):
            wanted[i] += 1
            kept[i] = wanted[i].to("cuda")
        most = max(most, mappings())
        print(f"step {step} {torch.cuda.memory_allocated()}", flush=True)
    print(f"mappings {before} {most}")


main()
