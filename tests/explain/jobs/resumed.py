"""Resumes from a file that it loads to the card, beside the model.

Mended: it loads the file to the host.
"""

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def build() -> nn.Module:
    return nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)])


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "weights.pt"
    torch.save(build().state_dict(), path)
    model = build().cuda()
    weights = torch.load(path, map_location="cpu" if mended else "cuda")  # <-- place
    model.load_state_dict(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step)
