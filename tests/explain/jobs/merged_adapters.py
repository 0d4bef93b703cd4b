"""Adds adapters to the weights, and keeps a copy of the original weights on the card.

Mended: it keeps the copy on the host.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Adapted(nn.Module):
    def __init__(self, width: int, rank: int = 8) -> None:
        super().__init__()
        self.base = nn.Linear(width, width, bias=False)
        self.a = nn.Parameter(torch.zeros(rank, width))
        self.b = nn.Parameter(torch.zeros(width, rank))
        self.saved: torch.Tensor | None = None

    @torch.no_grad()
    def merge(self) -> None:
        weight = self.base.weight.data
        self.saved = weight.cpu() if mended else weight.clone()  # <-- place
        weight += self.b @ self.a

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x)


model = nn.Sequential(*[Adapted(1536) for _ in range(24)]).cuda()
for layer in model:
    layer.merge()  # <-- place
with torch.inference_mode():
    for _ in range(3):
        print(model(torch.randn(64, 1536, device="cuda")).shape)
