"""Accumulates the gradients of four small batches, with a backward pass for each."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(x)))


model = nn.Sequential(*[Block(256) for _ in range(4)], nn.Linear(256, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(4):
        x = torch.randn(2048, 256, device="cuda")
        loss = model(x).logsumexp(dim=1).mean() / 4
        loss.backward()
        total += loss.item()
    optimizer.step()
    print("step", step, total)
