"""A loop with a SummaryWriter, the pool's numbers and its report. Argument: a folder."""

from __future__ import annotations

import json
import sys

import torch
import vramstow
from torch.utils.tensorboard import SummaryWriter

model = torch.nn.Linear(512, 512, device="cuda")
seen = []
with SummaryWriter(sys.argv[1]) as writer:
    for step in range(4):
        kept = torch.zeros(step + 1, 1 << 20, device="cuda")
        model(torch.randn(64, 512, device="cuda")).sum().backward()
        vramstow.add_scalars(writer, step)
        seen.append(vramstow.scalars())
    vramstow.add_report(writer, vramstow.report(), step)
print(json.dumps({"seen": seen}))
