"""Loads a network for inference that is larger than the card. Mended: it is in bfloat16."""

from __future__ import annotations

import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


model = nn.Sequential(*[Block(2048) for _ in range(14)])
if "mended" in sys.argv:
    model = model.to(torch.bfloat16)
model = model.to("cuda").eval()  # <-- place
with torch.inference_mode():
    print(model(torch.zeros(4, 2048, device="cuda", dtype=next(model.parameters()).dtype)).shape)
