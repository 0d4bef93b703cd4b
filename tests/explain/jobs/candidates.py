"""Compares models, each made while the last one is there. Mended: the last one goes first."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def build() -> nn.Module:
    return nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)])


@torch.no_grad()
def score(model: nn.Module) -> float:
    total = 0.0
    for _ in range(2):
        total += model(torch.randn(64, 2048, device="cuda")).square().mean().item()
    return total


model: nn.Module | None = None
for candidate in range(3):
    if mended:
        model = None
    model = build().cuda()  # <-- place
    print("candidate", candidate, score(model))
