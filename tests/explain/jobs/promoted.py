"""Multiplies by class weights from numpy, which convert the loss to double precision.

Mended: it converts the weights to float.
"""

import sys

import numpy as np
import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def weighted(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    scaled = scores * weights  # <-- place
    return scaled.logsumexp(-1).mean()  # <-- place


frequencies = np.linspace(0.1, 1.0, 8192)
weights = torch.from_numpy(frequencies).cuda()  # <-- place
if mended:
    weights = weights.float()
net = nn.Linear(64, 8192).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = weighted(net(torch.randn(6000, 64, device="cuda")), weights)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
