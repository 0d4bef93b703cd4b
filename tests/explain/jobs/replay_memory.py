"""Keeps the memory of observations of a reinforcement learner on the card.

Mended: it keeps them on the host.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Memory:
    def __init__(self) -> None:
        self.frames: list[torch.Tensor] = []

    def add(self, frames: torch.Tensor) -> None:
        kept = frames.cpu() if mended else frames.float() / 255  # <-- place
        self.frames.append(kept)


agent = nn.Sequential(nn.Flatten(), nn.Linear(64 * 64 * 3, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()
optimizer = torch.optim.Adam(agent.parameters())
memory = Memory()
for _round in range(24):
    frames = torch.randint(256, (512, 3, 64, 64), dtype=torch.uint8, device="cuda")
    memory.add(frames)
    loss = agent(frames[:64].float()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("rounds", len(memory.frames))
