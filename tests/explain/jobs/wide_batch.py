"""Trains a convolutional network with a batch that is too large.

Mended: it splits the batch into four micro-batches.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Tower(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(32, 32, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for conv in self.convs:
            x = torch.relu(conv(x))  # <-- place
        return self.head(x.mean(dim=(2, 3)))


model = Tower(10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    parts = 4 if mended else 1
    for _ in range(parts):
        images = torch.randn(128 // parts, 3, 64, 64, device="cuda")
        model(images).logsumexp(dim=1).mean().backward()  # <-- place
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
