"""Loads a model from three files, all of them to the card first. Mended: to the host."""

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def network() -> nn.Sequential:
    return nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(18)])


def write_shards(folder: Path) -> list[Path]:
    names = list(network().state_dict())
    files = []
    for number in range(3):
        part = {}
        for name in names[number::3]:
            part[name] = torch.zeros(2048, 2048) if "weight" in name else torch.zeros(2048)
        files.append(folder / f"model-{number}.pt")
        torch.save(part, files[-1])
    return files


with tempfile.TemporaryDirectory() as folder:
    files = write_shards(Path(folder))
    weights = {}
    for file in files:
        weights.update(torch.load(file, map_location="cpu" if mended else "cuda"))  # <-- place
model = network().cuda()
model.load_state_dict(weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(2):
    loss = model(torch.randn(64, 2048, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
