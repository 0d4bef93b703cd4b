"""Keeps the gradients of each task to compare their norms. Mended: it keeps the norms."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

TASKS = 16
trunk = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)).cuda()
heads = [nn.Linear(2048, 4).cuda() for _ in range(TASKS)]


def gradients_of(head: nn.Module) -> list[torch.Tensor]:
    trunk.zero_grad()
    loss = head(trunk(torch.randn(64, 2048, device="cuda"))).logsumexp(dim=1).mean()
    loss.backward()  # <-- place
    return [one.grad for one in trunk.parameters()]


by_task: list[list[torch.Tensor]] = []
for head in heads:
    found = gradients_of(head)  # <-- place
    by_task.append([one.norm() for one in found] if mended else found)  # <-- place
print([sum(one.norm().item() for one in gradients) for gradients in by_task])
