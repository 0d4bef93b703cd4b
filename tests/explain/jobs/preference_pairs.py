"""Compares a policy with a reference model, which records a graph without need.

Mended: it calls the reference under no_grad().
"""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn

mended = sys.argv[1:] == ["mended"]


def network() -> nn.Sequential:
    return nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(1024, 1024), nn.Tanh())])


policy = network().cuda()
reference = copy.deepcopy(policy).eval()
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-5)


def score(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).sum(1)  # <-- place


def reference_score(x: torch.Tensor) -> torch.Tensor:
    if mended:
        with torch.no_grad():
            return score(reference, x)
    return score(reference, x)  # <-- place


for _ in range(3):
    good, bad = (torch.randn(4096, 1024, device="cuda") for _ in range(2))
    margin = (score(policy, good) - reference_score(good)) - (
        score(policy, bad) - reference_score(bad)
    )
    loss = -F.logsigmoid(0.1 * margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
