"""Subtracts a vector from a column, so that broadcasting makes a matrix of all pairs.

Mended: it subtracts two columns.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def error(prediction: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    if mended:
        truth = truth.unsqueeze(1)
    return (prediction - truth).square().mean()  # <-- place


net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    x = torch.randn(16_384, 32, device="cuda")
    y = torch.randn(16_384, device="cuda")
    error(net(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
