"""A relation network: each object beside each other one. Mended: fewer objects."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Relations(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.pair = nn.Linear(2 * width, 32)
        self.out = nn.Linear(32, 4)

    def forward(self, objects: torch.Tensor) -> torch.Tensor:
        count, width = objects.shape
        left = objects.unsqueeze(0).expand(count, count, width)
        right = objects.unsqueeze(1).expand(count, count, width)
        pairs = torch.cat([left, right], dim=-1)  # <-- place
        return self.out(torch.relu(self.pair(pairs)).mean((0, 1)))


model = Relations(64).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    objects = torch.randn(200 if mended else 1200, 64, device="cuda")
    loss = model(objects).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
