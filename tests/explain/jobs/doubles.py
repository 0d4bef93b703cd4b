"""Trains a model in double precision without a reason. Mended: it trains in single precision."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(nn.Linear(2048, 4096), nn.Tanh(), nn.Linear(4096, 2048), nn.Tanh())
if not mended:
    model = model.double()
model = model.cuda()  # <-- place
dtype = next(model.parameters()).dtype
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    x = torch.randn(4096, 2048, device="cuda", dtype=dtype)
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
