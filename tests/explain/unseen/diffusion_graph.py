"""Samples pictures by diffusion with gradients on. Mended: under no_grad."""

import contextlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.last = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.silu(self.first(x)))  # <-- place


def sample(model: Denoiser, steps: int) -> torch.Tensor:
    x = torch.randn(16, 4, 256, 256, device="cuda")
    for _ in range(steps):
        noise = model(x)  # <-- place
        x = x - noise / steps  # <-- place
    return x


model = Denoiser().cuda().eval()
with torch.no_grad() if mended else contextlib.nullcontext():
    print(tuple(sample(model, 30).shape))
