"""Logs the gradient's penalty of each step with its graph. Mended: as a number."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def penalty_of(critic: nn.Module, x: torch.Tensor) -> torch.Tensor:
    score = critic(x)  # <-- place
    (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


critic = nn.Sequential(nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh()).cuda()
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
log = []
for _step in range(30):
    x = torch.randn(2048, 1024, device="cuda", requires_grad=True)
    penalty = penalty_of(critic, x)  # <-- place
    (penalty * 10).backward(retain_graph=not mended)
    optimizer.step()
    optimizer.zero_grad()
    log.append(penalty.item() if mended else penalty)
print(len(log), "penalties")
