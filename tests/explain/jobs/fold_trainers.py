"""Keeps the trainer of each fold of a cross validation as its result.

Mended: it keeps the scores.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Trainer:
    def __init__(self, fold: int) -> None:
        self.fold = fold
        self.model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()  # <-- place
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.score = 0.0

    def fit(self) -> "Trainer":
        for _ in range(3):
            loss = self.model(torch.randn(256, 1024, device="cuda")).square().mean()
            self.optimizer.zero_grad()
            loss.backward()  # <-- place
            self.optimizer.step()  # <-- place
        self.score = loss.item()
        return self


results = []
for fold in range(8):
    trainer = Trainer(fold).fit()
    results.append(trainer.score if mended else trainer)  # <-- place
print(len(results), "folds")
