"""Distillation that remembers the teacher's answers for later epochs. Mended: on the host."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Distiller:
    def __init__(self) -> None:
        self.teacher = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 2048)).cuda()
        self.student = nn.Linear(256, 2048).cuda()
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1)
        self.answers: dict[int, torch.Tensor] = {}

    @torch.no_grad()
    def answer(self, index: int, x: torch.Tensor) -> torch.Tensor:
        if index not in self.answers:
            logits = self.teacher(x)  # <-- place
            self.answers[index] = logits.cpu() if mended else logits  # <-- place
        return self.answers[index].to("cuda")

    def step(self, index: int) -> None:
        x = torch.randn(4096, 256, device="cuda")
        loss = F.mse_loss(self.student(x), self.answer(index, x))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


distiller = Distiller()
for _epoch in range(2):
    for index in range(30):
        distiller.step(index)
print(len(distiller.answers), "answers")
