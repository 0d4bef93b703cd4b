"""Generates with a cache that grows by torch.cat.

Mended: it allocates the cache at its full length.
"""

import sys

import torch

mended = sys.argv[1:] == ["mended"]
LENGTH = 40
HEADS = (64, 16, 64)


@torch.no_grad()
def generate() -> torch.Tensor:
    if mended:
        cache = torch.empty(HEADS[0], HEADS[1], LENGTH * 64, HEADS[2], device="cuda")
    else:
        cache = torch.empty(HEADS[0], HEADS[1], 0, HEADS[2], device="cuda")
    for step in range(LENGTH):
        keys = torch.randn(HEADS[0], HEADS[1], 64, HEADS[2], device="cuda")
        if mended:
            cache[:, :, step * 64 : (step + 1) * 64] = keys
        else:
            cache = torch.cat([cache, keys], dim=2)  # <-- place
    return cache


print(generate().shape)
