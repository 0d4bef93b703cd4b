"""Trains a small network that torch.compile compiled, and prints the loss of each step."""

from __future__ import annotations

import torch


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 1)
    ).cuda()
    step = torch.compile(lambda x, y: torch.nn.functional.mse_loss(model(x), y))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(512, 64, device="cuda")
    y = x.sum(1, keepdim=True)
    for _ in range(10):
        optimizer.zero_grad()
        loss = step(x, y)
        loss.backward()
        optimizer.step()
        print(loss.item(), flush=True)


main()
