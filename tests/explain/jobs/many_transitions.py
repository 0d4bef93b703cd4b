"""Appends very many small tensors to a replay memory without a bound.

Mended: the memory keeps the last thousand.
"""

import sys
from collections import deque

import torch

mended = sys.argv[1:] == ["mended"]


class Memory:
    def __init__(self, most: int | None) -> None:
        self.transitions: deque[tuple[torch.Tensor, torch.Tensor]] = deque(maxlen=most)

    def push(self, state: torch.Tensor, reward: torch.Tensor) -> None:
        self.transitions.append((state, reward))


memory = Memory(1000 if mended else None)
state = torch.zeros(256, device="cuda")
for _ in range(200_000):
    state = state + 1  # <-- place
    memory.push(state, state[0].clone())  # <-- place
print(len(memory.transitions))
