"""The cost of a whole series is added up before the first step. Mended: a step every 10 days."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.update = nn.Linear(8 + 64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.tanh(self.update(torch.cat([x, h], dim=1)))  # <-- place
        return self.out(torch.relu(h)).squeeze(1), h


def train(model: nn.Module, series: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    h = torch.zeros(series.shape[1], 64, device="cuda")
    cost = torch.zeros((), device="cuda")
    for day in range(len(series) - 1):
        x, y = series[day].cuda(), series[day + 1, :, 0].cuda()
        prediction, h = model(x, h)  # <-- place
        cost = cost + (prediction - y).square().mean()
        if mended and day % 10 == 9:
            cost.backward()
            optimizer.step()
            optimizer.zero_grad()
            cost, h = torch.zeros((), device="cuda"), h.detach()
    if not mended:
        cost.backward()
        optimizer.step()


train(Forecaster().cuda(), torch.randn(400, 8000, 8))
print("trained")
