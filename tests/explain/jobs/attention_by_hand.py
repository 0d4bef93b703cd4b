"""Attention as the textbook has it, over a long text. Mended: the fused one."""

import math
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if mended:
            y = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # <-- place
            y = torch.softmax(scores, dim=-1) @ v  # <-- place
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


model = nn.Sequential(*[Attention(256, 4) for _ in range(3)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in (512, 1024, 2048):
    model(torch.randn(2, length, 256, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("length", length)
