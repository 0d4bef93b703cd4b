"""Draws plots at the end, by functions that keep their data since the loop.

Mended: they keep a small part of it.
"""

import sys
from collections.abc import Callable

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def plot_of(title: str, values: torch.Tensor) -> Callable[[], str]:
    def draw() -> str:
        return f"{title}: {values.shape[0]} rows"

    return draw


@torch.no_grad()
def look(encoder: Encoder, batches: int) -> list[Callable[[], str]]:
    plots = []
    for batch in range(batches):
        activations = encoder(torch.randn(4096, 256, device="cuda"))  # <-- place
        if mended:
            activations = activations[:64].clone()
        plots.append(plot_of(f"batch {batch}", activations))  # <-- place
    return plots


for plot in look(Encoder().cuda(), 45):
    plot()
print("drawn")
