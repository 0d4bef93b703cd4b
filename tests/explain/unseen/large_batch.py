"""Trains on a batch that does not fit. Mended: on its quarters, one after the other."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))  # <-- place


model = nn.Sequential(*[Block(256) for _ in range(6)], nn.Linear(256, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
pieces = 4 if mended else 1
for step in range(3):
    optimizer.zero_grad()
    for _ in range(pieces):
        words = torch.randn(64 // pieces, 256, 256, device="cuda")
        loss = model(words).mean(dim=1).logsumexp(dim=1).mean() / pieces  # <-- place
        loss.backward()
    optimizer.step()
    print("step", step)
