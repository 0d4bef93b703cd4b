"""Stacks fifty outputs of a network with dropout, to compute their variance.

Mended: it computes running sums.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Regressor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 1024)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@torch.no_grad()
def spread(model: Regressor, x: torch.Tensor, times: int) -> torch.Tensor:
    if mended:
        total = torch.zeros(len(x), 1024, device="cuda")
        squares = torch.zeros(len(x), 1024, device="cuda")
        for _ in range(times):
            answer = model(x)
            total += answer
            squares += answer.square()
        return squares / times - (total / times).square()
    answers = torch.stack([model(x) for _ in range(times)])  # <-- place
    return answers.var(dim=0)


model = Regressor().cuda().train()
print(tuple(spread(model, torch.randn(4096, 64, device="cuda"), 50).shape))
