"""A loop with a run of Weights & Biases, the pool's numbers and its report. Argument: a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import vramstow
import vramstow.wandb
import wandb

Path(sys.argv[1]).mkdir()
model = torch.nn.Linear(512, 512, device="cuda")
seen = []
quiet = wandb.Settings(silent=True)
with wandb.init(mode="offline", project="memory", dir=sys.argv[1], settings=quiet) as run:
    for step in range(4):
        kept = torch.zeros(step + 1, 1 << 20, device="cuda")
        loss = model(torch.randn(64, 512, device="cuda")).square().mean()
        loss.backward()
        vramstow.wandb.add_scalars(run)
        seen.append(vramstow.scalars())
        run.log({"loss": loss.item()})
    vramstow.wandb.add_report(run, vramstow.report())
print(json.dumps({"seen": seen, "peak": vramstow.scalars()}))
