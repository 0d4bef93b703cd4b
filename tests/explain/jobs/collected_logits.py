"""Collects all logits of an evaluation on the card. Mended: it collects them on the host."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


@torch.no_grad()
def predict(model: nn.Module) -> list[torch.Tensor]:
    collected = []
    for _ in range(25):
        logits = model(torch.randn(512, 256, device="cuda"))  # <-- place
        collected.append(logits.cpu() if mended else logits)
    return collected


print(len(predict(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 20_000)).cuda())))
