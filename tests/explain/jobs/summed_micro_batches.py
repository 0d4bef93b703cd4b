"""Adds up the losses of micro-batches, and calls backward once for all.

Mended: it calls backward for each micro-batch.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def make() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def step(model: nn.Module, optimizer: torch.optim.Optimizer, micro_batches: int) -> None:
    total = torch.zeros((), device="cuda")
    for _ in range(micro_batches):
        x = torch.rand(16, 3, 96, 96, device="cuda")
        y = torch.zeros(16, dtype=torch.long, device="cuda")
        loss = nn.functional.cross_entropy(model(x), y) / micro_batches  # <-- place
        if mended:
            loss.backward()
        else:
            total = total + loss  # <-- place
    if not mended:
        total.backward()
    optimizer.step()
    optimizer.zero_grad()


model = make().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for i in range(4):
    step(model, optimizer, 2 + 4 * i)
    print("step", i)
