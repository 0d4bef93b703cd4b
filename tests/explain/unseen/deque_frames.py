"""Keeps the newest thousand frames, on the card. Mended: on the host."""

import sys
from collections import deque

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Memory:
    def __init__(self, size: int) -> None:
        self.frames: deque[torch.Tensor] = deque(maxlen=size)

    def add(self, frame: torch.Tensor) -> None:
        self.frames.append(frame.cpu() if mended else frame)  # <-- place


memory = Memory(1000)
policy = nn.Linear(1024, 8).cuda()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for _step in range(70):
    frame = torch.rand(3072, 1024, device="cuda")  # <-- place
    memory.add(frame)
    loss = policy(frame).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(memory.frames), "frames")
