"""Compares networks of several widths. Mended: keeps the score of each, not the network."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Wide(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(6)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@torch.no_grad()
def score(model: Wide, width: int) -> float:
    return model(torch.randn(128, width, device="cuda")).square().mean().item()


def compare(widths: range) -> dict[int, tuple[float, Wide | None]]:
    found: dict[int, tuple[float, Wide | None]] = {}
    for width in widths:
        model = Wide(width).cuda()  # <-- place
        found[width] = (score(model, width), None if mended else model)  # <-- place
        del model
    return found


table = compare(range(512, 2561, 256))
print(min(table))
