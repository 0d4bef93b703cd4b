"""Trains with a batch that is too large. A copy of the model that is idle is not the cause.

Mended: it splits the batch.
"""

import copy
import sys

import torch
from torch import nn

parts = 2 if sys.argv[1:] == ["mended"] else 1
model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(512, 512), nn.GELU())]).cuda()
average = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    x = torch.randn(16384, 512, device="cuda")
    optimizer.zero_grad()
    for part in x.chunk(parts):
        loss = model(part).square().mean() / parts  # <-- place
        loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.01)
