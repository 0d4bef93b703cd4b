"""Keeps the gradients of each batch, to examine their noise. Mended: it keeps their norms."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def flat_gradient(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    loss = model(x).square().mean()
    grads = torch.autograd.grad(loss, list(model.parameters()))  # <-- place
    return torch.cat([grad.flatten() for grad in grads])  # <-- place


model = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh())
model = model.cuda()
noise = []
for _ in range(24):
    gradient = flat_gradient(model, torch.randn(64, 512, device="cuda"))  # <-- place
    noise.append(gradient.norm().item() if mended else gradient)  # <-- place
print(len(noise))
