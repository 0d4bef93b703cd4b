"""A teacher that is not trained, a student in evaluation mode, and a dead cycle of objects."""

from __future__ import annotations

import gc

import torch
from torch import nn


class Ring:
    def __init__(self) -> None:
        self.me = self
        self.kept = torch.empty(24 << 20, device="cuda")


gc.disable()
teacher = nn.Linear(1024, 4096, bias=False).cuda()
student = nn.Linear(1024, 2048, bias=False).cuda().eval()
frozen = nn.Linear(1024, 1024, bias=False).cuda().requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
Ring()
kept = []
while True:
    kept.append(torch.empty(4 << 20, device="cuda"))
