"""Computes the norm of gradients that have a graph of their own (create_graph).

Mended: they have none.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def block(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, width), nn.GELU())


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> float:
    parameters = list(model.parameters())
    loss = model(torch.randn(4096, 1024, device="cuda")).square().mean()
    gradients = torch.autograd.grad(loss, parameters, create_graph=not mended)  # <-- place
    norm = torch.stack([gradient.detach().norm() for gradient in gradients]).norm()
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.detach()
    optimizer.step()
    optimizer.zero_grad()
    return norm.item()


model = nn.Sequential(*[block(1024) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    print("norm of the gradient", train_step(model, optimizer))
