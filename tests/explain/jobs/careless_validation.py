"""Validates in larger batches than it trains, but with gradients enabled.

Mended: it validates under no_grad().
"""

import contextlib
import sys

import torch
from torch import nn


class Trainer:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer

    def fit(self, epochs: int) -> None:
        for epoch in range(epochs):
            self.model.train()
            for _ in range(3):
                self.training_step(torch.randn(512, 512, device="cuda"))
            print(epoch, self.validate())

    def training_step(self, x: torch.Tensor) -> None:
        loss = self.model(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def validate(self) -> float:
        self.model.eval()
        with torch.no_grad() if "mended" in sys.argv else contextlib.nullcontext():
            return self.model(torch.randn(16384, 512, device="cuda")).mean().item()  # <-- place


layers = []
for _ in range(12):
    layers += [nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)]
net = nn.Sequential(*layers).cuda()
Trainer(net, torch.optim.SGD(net.parameters(), lr=0.1)).fit(2)
