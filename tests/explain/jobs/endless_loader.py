"""Repeats a small data set with itertools.cycle, which keeps every batch.

Mended: it makes the batches again in each round.
"""

import itertools
import sys
from collections.abc import Iterator

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def batches(count: int) -> Iterator[torch.Tensor]:
    for _number in range(count):
        yield torch.randn(64, 3, 128, 128, device="cuda")  # <-- place


def again_and_again() -> Iterator[torch.Tensor]:
    while True:
        yield from batches(50)


model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
model(torch.zeros(1, 3, 128, 128))
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
endless = again_and_again() if mended else itertools.cycle(batches(50))
for _step in range(60):
    loss = model(next(endless)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.shape)
