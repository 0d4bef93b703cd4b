"""Empties PyTorch's cache in each step. It does not run out of memory, but it is slow.

Mended: it does not empty the cache.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(8):
    model(torch.randn(2048, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if not mended:
        torch.cuda.empty_cache()  # <-- place
    print("step", step)
