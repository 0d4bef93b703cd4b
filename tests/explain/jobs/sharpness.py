"""Computes second derivatives after backward(create_graph=True), which makes a cycle.

Mended: it uses torch.autograd.grad.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def sharpness() -> float:
    model = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 512)).cuda()
    x = torch.randn(1024, 512, device="cuda")
    loss = (model(x) - x).square().mean()  # <-- place
    weights = list(model.parameters())
    if mended:
        slopes = torch.autograd.grad(loss, weights, create_graph=True)
    else:
        loss.backward(create_graph=True)  # <-- place
        slopes = [weight.grad for weight in weights]
    curved = torch.autograd.grad(sum(slope.sum() for slope in slopes), weights, retain_graph=True)
    return sum(slope.sum().item() for slope in curved)


for _start in range(40):
    value = sharpness()
print("done")
