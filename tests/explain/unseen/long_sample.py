"""Pairs of all atoms of a molecule, padded to the largest one of the batch. Mended: it is alone."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
sizes = [30, 34, 28, 33, 31, 29, 32, 30, 35, 34, 33, 31, 30, 260, 32, 33, 28, 30, 31, 34]
if mended:
    sizes.sort()
step = 4


class Potential(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 64)
        self.mlp = nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, atoms: torch.Tensor) -> torch.Tensor:
        h = self.embed(atoms)
        pairs = h[:, :, None] + h[:, None, :]  # <-- place
        return self.mlp(pairs).sum((1, 2, 3))  # <-- place


def batches() -> list[list[int]]:
    if mended:  # the large one has a batch of its own
        return [[size] * step for size in sizes[:-1]] + [sizes[-1:]]
    return [sizes[i : i + step] for i in range(0, len(sizes), step)]


model = Potential().cuda()
optimizer = torch.optim.Adam(model.parameters())
for batch in batches():
    atoms = torch.zeros(len(batch), max(batch), 4)  # padded to the longest
    loss = model(atoms.cuda()).mean()  # <-- place
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
