"""Puts one checkpoint around the whole network to save memory.

Mended: it puts one around every four layers.
"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

mended = sys.argv[1:] == ["mended"]


class Network(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(depth)
        )

    def run(self, x: torch.Tensor, first: int, last: int) -> torch.Tensor:
        for layer in self.layers[first:last]:
            x = layer(x)  # <-- place
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        depth = len(self.layers)
        piece = 4 if mended else depth
        for first in range(0, depth, piece):
            x = checkpoint(self.run, x, first, first + piece, use_reentrant=False)  # <-- place
        return x


net = Network(16).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    loss = net(torch.randn(4096, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()  # <-- place
    optimizer.step()
    print("step", step)
