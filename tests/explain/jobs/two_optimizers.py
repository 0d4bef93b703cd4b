"""Warms up with one Adam optimizer, and continues with another one beside it.

Mended: it deletes the first one before.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU())
model = model.append(nn.Linear(4096, 10)).to("cuda")


def run_epoch(optimizer: torch.optim.Optimizer, batches: int) -> None:
    for _ in range(batches):
        x = torch.randn(32, 1024, device="cuda")
        y = torch.zeros(32, dtype=torch.long, device="cuda")
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # <-- place


warmup = torch.optim.Adam(model.parameters(), lr=1e-5)
run_epoch(warmup, 5)
if mended:
    del warmup
main = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
run_epoch(main, 5)
print("done")
