"""Trains a small network on the simulated GPU and on the CPU, and prints both losses."""

from __future__ import annotations

import sys

import torch


def train(device: str, optimizer: str, steps: int = 30) -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).to(
        device
    )
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(64, 8, generator=generator).to(device)
    y = x.sum(1, keepdim=True)
    make = getattr(torch.optim, optimizer)
    update = make(model.parameters(), lr=0.05 if optimizer == "SGD" else 0.01)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(model(x), y)
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


for card, host in zip(train("cuda", sys.argv[1]), train("cpu", sys.argv[1]), strict=True):
    print(card, host)
