"""Trains well, then validates with gradients on and adds the losses up. Mended: no_grad."""

import contextlib
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(400, 1600), nn.ReLU(), nn.Linear(1600, 1600), nn.ReLU()
        )
        self.out = nn.Linear(1600, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x))


def train(net: Net, steps: int) -> None:
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(steps):
        loss = net(torch.randn(1024, 400, device="cuda")).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(net: Net, batches: int) -> float:
    net.eval()
    total = 0.0
    for _ in range(batches):
        total += net(torch.randn(1024, 400, device="cuda")).logsumexp(1).mean()  # <-- place
    return float(total)


net = Net().cuda()
for epoch in range(2):
    train(net, 4)
    with torch.no_grad() if mended else contextlib.nullcontext():
        print(epoch, validate(net, 40))
