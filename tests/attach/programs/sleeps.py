"""A PyTorch process whose main thread runs no Python until it is woken, and some after that.

To wake it, open its pipe `wake` for writing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch

kept = torch.ones(1 << 18, device="cuda")
os.mkfifo("wake")
print("ready", flush=True)
os.close(os.open("wake", os.O_RDONLY))
for _ in range(100):
    time.sleep(0.01)
print("awake", flush=True)
while not Path("end").exists():
    time.sleep(0.02)
