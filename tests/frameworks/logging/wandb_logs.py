"""Loops with a run of Weights & Biases, the pool's numbers and its report. Argument: a folder.

The run `counted` counts its rows itself, and the run `stepped` gets the steps 0, 10, 20 and 30.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import vramstow
import vramstow.wandb
import wandb

model = torch.nn.Linear(512, 512, device="cuda")
quiet = wandb.Settings(silent=True)


def log(name: str, distance: int | None) -> list[dict[str, float]]:
    """Returns the numbers that vramstow had when each row was written."""
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True)
    seen = []
    with wandb.init(mode="offline", project="memory", dir=folder, settings=quiet) as run:
        for number in range(4):
            step = None if distance is None else number * distance
            kept = torch.zeros(number + 1, 1 << 20, device="cuda")
            loss = model(torch.randn(64, 512, device="cuda")).square().mean()
            loss.backward()
            vramstow.wandb.add_scalars(run, step=step)
            seen.append(vramstow.scalars())
            run.log({"loss": loss.item()}, step=step)
            del kept
        last = None if distance is None else 4 * distance
        vramstow.wandb.add_report(run, vramstow.report(), step=last)
    return seen


seen = {"counted": log("counted", None), "stepped": log("stepped", 10)}
print(json.dumps({"seen": seen, "peak": vramstow.scalars()}))
