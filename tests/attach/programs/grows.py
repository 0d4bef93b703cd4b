"""Keeps a tensor in each step, until its file `stop` exists; then it prints its memory.

It allocates and frees many sizes, so that blocks from before the attachment are split and merged.
Its file `steps` has a byte for each step. GROWS_ON can name another device.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch

DEVICE = os.environ.get("GROWS_ON", "cuda")
KEPT = 1 << 20  # bytes kept in each step

weights = [torch.ones(1 << 18, device=DEVICE) for _ in range(8)]
early = [torch.ones(100 + 997 * i, device=DEVICE) for i in range(400)]
history: list[torch.Tensor] = []


def step(number: int) -> None:
    scratch = [
        torch.ones(1 + (number * 7919 + i * 104729) % 300_000, device=DEVICE) for i in range(9)
    ]
    history.append(torch.ones(KEPT // 4, device=DEVICE))
    if early and number % 2:
        del early[number % len(early)]
    del scratch


told = os.open("steps", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
print("ready", flush=True)
steps = 0
while not Path("stop").exists():
    step(steps)
    steps += 1
    os.write(told, b".")
    time.sleep(0.02)
print(steps, torch.cuda.memory_allocated(DEVICE), torch.cuda.memory_reserved(DEVICE), flush=True)
while not Path("end").exists():
    time.sleep(0.02)
