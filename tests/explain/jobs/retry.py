"""Tries a batch, and inside the handler of the error a batch of half the size.

Mended: it tries the next batch after the handler has ended.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def attempt(model: nn.Module, size: int) -> float:
    x = torch.randn(size, 1024, device="cuda")
    for _ in range(4):
        x = torch.relu(model(x))  # <-- place
    return x.mean().item()


def train_on(model: nn.Module, size: int) -> float:
    if mended:
        while True:
            try:
                return attempt(model, size)
            except torch.OutOfMemoryError:
                pass
            size //= 2
    try:
        return attempt(model, size)
    except torch.OutOfMemoryError:
        return attempt(model, size // 2)  # <-- place


print(train_on(nn.Linear(1024, 1024).cuda(), 20_480))
