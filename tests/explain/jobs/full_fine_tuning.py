"""Trains a model that fits on the card, but whose gradients do not.

Mended: it trains only the last layer.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
layers = [m for _ in range(24) for m in (nn.Linear(2048, 2048, bias=False), nn.Tanh())]
model = nn.Sequential(*layers).cuda()  # <-- place
if mended:
    model[:-2].requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for _ in range(3):
    x = torch.randn(64, 2048, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
