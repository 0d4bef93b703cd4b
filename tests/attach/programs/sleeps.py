"""A process of PyTorch whose main thread runs no Python for a while, and then some."""

from __future__ import annotations

import time
from pathlib import Path

import torch

kept = torch.ones(1 << 18, device="cuda")
print("ready", flush=True)
time.sleep(3)
for _ in range(100):
    time.sleep(0.01)
print("awake", flush=True)
while not Path("end").exists():
    time.sleep(0.02)
