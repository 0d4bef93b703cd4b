"""An agent plays, and its rollout keeps graphs. Mended: it plays without gradients."""

import contextlib
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU()
        )
        self.actor = nn.Linear(2592, 6)
        self.critic = nn.Linear(2592, 1)

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(frames).flatten(1)
        return self.actor(features), self.critic(features)


class Rollout:
    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []

    def add(self, value: torch.Tensor) -> None:
        self.values.append(value)  # <-- place


def play(policy: Policy, steps: int) -> Rollout:
    rollout = Rollout()
    for _ in range(steps):
        frames = torch.rand(64, 4, 84, 84, device="cuda")
        with torch.no_grad() if mended else contextlib.nullcontext():
            _, value = policy(frames)  # <-- place
        rollout.add(value)
    return rollout


policy = Policy().cuda()
print(len(play(policy, 60).values))
