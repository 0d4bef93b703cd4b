"""Trains small adapters, but does not freeze the large network that they adapt.

Mended: it freezes the network.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Adapted(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.base = nn.Linear(width, width)
        self.down = nn.Linear(width, 8, bias=False)
        self.up = nn.Linear(8, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.base(x) + self.up(self.down(x)))


net = nn.Sequential(*[Adapted(2048) for _ in range(16)]).cuda()  # <-- place
adapters = [p for name, p in net.named_parameters() if "base" not in name]
if mended:
    for layer in net:
        layer.base.requires_grad_(False)
optimizer = torch.optim.AdamW(adapters, lr=1e-3)
for step in range(3):
    loss = net(torch.randn(256, 2048, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()  # <-- place
    optimizer.step()
    print("step", step)
