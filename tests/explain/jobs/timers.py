"""Writes each result one minute later by a timer, which keeps the result.

Mended: the timer has a copy on the host.
"""

import sys
import threading

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def write(step: int, result: torch.Tensor) -> None:
    print("step", step, tuple(result.shape))


model = nn.Linear(256, 1024).cuda().eval()
with torch.no_grad():
    for step in range(60):
        result = model(torch.randn(4096, 256, device="cuda"))  # <-- place
        what = result.cpu() if mended else result
        timer = threading.Timer(60, write, (step, what))  # <-- place
        timer.daemon = True
        timer.start()  # <-- place
print("all steps")
