"""Moves all batches of a loader to the card before training, to save time later.

Mended: it moves each batch when it is used.
"""

import sys
from collections.abc import Iterator

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def loader() -> Iterator[torch.Tensor]:
    for _ in range(24):
        yield torch.zeros(1024, 4096)


batches = list(loader()) if mended else [batch.to("cuda") for batch in loader()]  # <-- place
model = nn.Sequential(nn.Linear(4096, 2048), nn.ReLU(), nn.Linear(2048, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for batch in batches:
    loss = model(batch.cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
