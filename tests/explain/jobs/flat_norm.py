"""Clips gradients by their norm, for which it copies all of them into one vector.

Mended: it uses PyTorch's function.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def clip(model: nn.Module, largest: float) -> None:
    if mended:
        nn.utils.clip_grad_norm_(model.parameters(), largest)
        return
    parts = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    flat = torch.cat(parts)  # <-- place
    scale = (largest / (flat.norm() + 1e-6)).clamp(max=1.0)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(scale)


model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(20)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    loss = model(torch.randn(64, 2048, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    clip(model, 1.0)
    optimizer.step()
    print("step", step)
