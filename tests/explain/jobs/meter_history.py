"""Trains with a meter that keeps the last hundred losses as tensors with their graphs.

Mended: it keeps numbers.
"""

import sys
from collections import deque

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Meter:
    def __init__(self, window: int) -> None:
        self.values: deque = deque(maxlen=window)

    def update(self, value: torch.Tensor) -> None:
        self.values.append(value.item() if mended else value)  # <-- place


class Trainer:
    def __init__(self) -> None:
        hidden = [nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU()]
        self.net = nn.Sequential(*hidden, nn.Linear(2048, 16)).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.meters = {"loss": Meter(100), "accuracy": Meter(100)}

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        scores = self.net(x)  # <-- place
        loss = nn.functional.cross_entropy(scores, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.meters["loss"].update(loss)
        self.meters["accuracy"].update((scores.detach().argmax(1) == y).float().mean())

    def fit(self, steps: int) -> None:
        for _ in range(steps):
            noise = torch.randn(1024, 512, device="cuda")
            extra = nn.functional.softplus(self.net(noise)).mean()  # <-- place
            self.meters["loss"].update(extra)
            labels = torch.zeros(1024, dtype=torch.long, device="cuda")
            self.step(torch.randn(1024, 512, device="cuda"), labels)


Trainer().fit(60)
