"""Trains two networks in turn, and keeps the gradients of one while it trains the other.

Mended: it drops the gradients.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def network() -> nn.Module:
    return nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)]).cuda()


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()  # <-- place
    optimizer.step()
    if mended:
        optimizer.zero_grad()


players = [network() for _ in range(2)]
optimizers = [torch.optim.SGD(player.parameters(), lr=0.1) for player in players]
for step in range(2):
    for player, optimizer in zip(players, optimizers, strict=True):
        optimizer.zero_grad()
        train(player, optimizer)
    print("step", step)
