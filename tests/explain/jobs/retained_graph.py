"""Calls backward with retain_graph=True, which is not needed. Mended: it leaves this out."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def block(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.GELU())


model = nn.Sequential(*[block(1024) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    x = torch.randn(4096, 1024, device="cuda")
    output = model(x)  # <-- place
    loss = output.square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=not mended)  # <-- place
    optimizer.step()
    print("step", step, loss.item())
