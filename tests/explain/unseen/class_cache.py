"""A data set keeps each scene that it has made on the card. Mended: only the last eight."""

import sys
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Scenes:
    cache: ClassVar[dict[int, torch.Tensor]] = {}

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.cache:
            if mended and len(self.cache) >= 8:
                self.cache.pop(next(iter(self.cache)))
            grid = torch.rand(128, 128, 128, device="cuda")  # <-- place
            self.cache[index] = grid  # <-- place
        return self.cache[index]


class Occupancy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.classes = nn.Linear(16**3, 20)

    def forward(self, grid: torch.Tensor) -> torch.Tensor:
        pooled = F.avg_pool3d(grid[None, None], 8)
        return self.classes(pooled.flatten(1))


scenes = Scenes(90)
model = Occupancy().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for index in range(scenes.count):
    loss = model(scenes[index]).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("epoch done")
