"""Encodes texts under autocast, whose cache keeps a bfloat16 copy of each weight.

Mended: it turns this cache off.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Encoder(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = F.gelu(layer(x))  # <-- place
        return x


@torch.no_grad()
def encode(model: Encoder, batches: int) -> list[float]:
    means = []
    with torch.autocast("cuda", torch.bfloat16, cache_enabled=not mended):  # <-- place
        for _ in range(batches):
            x = model(torch.randn(256, 2048, device="cuda"))
            means.append(x.float().mean().item())
    return means


print(len(encode(Encoder(24).cuda().eval(), 6)), "batches")
