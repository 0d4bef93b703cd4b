"""Limits PyTorch to a quarter of the card, which is not enough. Mended: it sets no limit."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def block(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.GELU())


if not mended:
    torch.cuda.set_per_process_memory_fraction(0.25)  # <-- place
model = nn.Sequential(*[block(1024) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    loss = model(torch.randn(8192, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
