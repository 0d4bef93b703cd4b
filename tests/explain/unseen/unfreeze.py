"""Trains the head first, then the whole network. Mended: then the last three layers."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(12))
        self.head = nn.Linear(2048, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def train(model: Classifier, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        loss = model(torch.randn(64, 2048, device="cuda")).logsumexp(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()  # <-- place
        optimizer.step()  # <-- place


model = Classifier().cuda()
model.layers.requires_grad_(False)
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
train(model, optimizer, 3)
print("head is trained")
thawed = model.layers[-3:] if mended else model.layers
thawed.requires_grad_(True)  # <-- place
optimizer.add_param_group({"params": thawed.parameters(), "lr": 1e-5})  # <-- place
train(model, optimizer, 3)
print("all is trained")
