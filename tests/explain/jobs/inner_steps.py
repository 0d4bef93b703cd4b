"""Learns to learn: the outer gradient goes through all inner steps. Mended: through none."""

import sys

import torch
from torch import nn
from torch.func import functional_call

mended = sys.argv[1:] == ["mended"]

learner = nn.Sequential(
    nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)
)
learner.cuda()
outer = torch.optim.Adam(learner.parameters(), lr=1e-3)


def adapt(x: torch.Tensor, y: torch.Tensor, steps: int) -> dict[str, torch.Tensor]:
    fast = dict(learner.named_parameters())
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(learner, fast, x), y)  # <-- place
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=not mended)  # <-- place
        fast = {n: p - 0.01 * g for (n, p), g in zip(fast.items(), grads, strict=True)}  # <-- place
    return fast


for task in range(3):
    x, y = torch.randn(2048, 128, device="cuda"), torch.randn(2048, 8, device="cuda")
    fast = adapt(x, y, 20)
    outer.zero_grad()
    nn.functional.mse_loss(functional_call(learner, fast, (x,)), y).backward()
    outer.step()
    print("task", task)
