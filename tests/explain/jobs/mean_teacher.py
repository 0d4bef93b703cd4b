"""Calls a mean teacher with gradients enabled, though no backward pass needs its graph.

Mended: it calls the teacher under no_grad().
"""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn

mended = sys.argv[1:] == ["mended"]
student = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(1024, 1024), nn.Tanh())]).cuda()
teacher = copy.deepcopy(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.01)


def ask(x: torch.Tensor) -> torch.Tensor:
    if mended:
        with torch.no_grad():
            return teacher(x)
    return teacher(x)  # <-- place


for _ in range(3):
    x = torch.randn(8192, 1024, device="cuda")
    target = ask(x)
    loss = F.mse_loss(student(x + 0.1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.mul_(0.99).add_(fast, alpha=0.01)
