"""A small student learns from a large teacher."""

import sys

import torch
import torch.nn.functional as F
from torch import nn


def mlp(width: int, depth: int) -> nn.Module:
    layers = [nn.Linear(256, width)]
    for _ in range(depth):
        layers += [nn.SiLU(), nn.Linear(width, width)]
    return nn.Sequential(*layers, nn.Linear(width, 100))


teacher, student = mlp(2048, 12).cuda(), mlp(128, 2).cuda()
optimizer = torch.optim.Adam(student.parameters())


def wanted(x: torch.Tensor) -> torch.Tensor:
    if "mended" in sys.argv:
        with torch.no_grad():
            return teacher(x)
    return teacher(x)  # <-- place


for _step in range(4):
    x = torch.randn(8192, 256, device="cuda")
    loss = F.kl_div(F.log_softmax(student(x), -1), F.softmax(wanted(x), -1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
