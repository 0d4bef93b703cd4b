"""Unpacks eight-bit weights once and keeps the result. Mended: it unpacks them in each call."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Linear8(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("codes", torch.zeros(width, width, dtype=torch.int8))
        self.register_buffer("scale", torch.ones(width, 1))
        self.full: torch.Tensor | None = None

    def weight(self) -> torch.Tensor:
        if self.full is not None:
            return self.full
        full = self.codes.float() * self.scale  # <-- place
        if not mended:
            self.full = full
        return full

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight())


model = nn.Sequential(*[Linear8(2048) for _layer in range(32)]).cuda()
with torch.no_grad():
    for _request in range(3):
        print(model(torch.randn(2, 2048, device="cuda")).shape)
