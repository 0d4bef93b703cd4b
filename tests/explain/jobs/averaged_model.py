"""Keeps a teacher and an averaged copy of the model on the card.

Mended: it keeps both on the host.
"""

import copy
import sys

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

mended = sys.argv[1:] == ["mended"]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.silu(self.up(x)))


student = nn.Sequential(*[Block(640) for _ in range(6)]).cuda()
place = "cpu" if mended else "cuda"
if mended:
    student.cpu()
teacher = copy.deepcopy(student).requires_grad_(False)  # <-- place
average = AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(0.999))  # <-- place
student.cuda()
optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(128, 640, device="cuda")
    with torch.no_grad():
        target = teacher(x.to(place)).cuda()
    nn.functional.mse_loss(student(x), target).backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
