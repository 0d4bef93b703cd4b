"""Trains a large embedding with SGD and momentum, whose buffers do not fit on the card.

Mended: it uses no momentum.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def update(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    words = torch.randint(40_000, (8, 64), device="cuda")
    model(words).mean().backward()
    optimizer.step()  # <-- place


embedding = nn.Sequential(nn.Embedding(40_000, 1024), nn.Linear(1024, 8)).cuda()
sgd = torch.optim.SGD(embedding.parameters(), lr=0.1, momentum=0.0 if mended else 0.9)
for step in range(3):
    sgd.zero_grad()
    update(embedding, sgd)
    print("step", step)
