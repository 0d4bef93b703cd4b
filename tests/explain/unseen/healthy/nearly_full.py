"""Trains steadily on a card of which it needs 85 in a hundred."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


model = nn.Sequential(*[Block(256) for _ in range(6)], nn.Linear(256, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _step in range(8):
    words = torch.randn(10_240, 256, device="cuda")
    loss = model(words).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", loss.item())
