"""Caches a model for each customer of a server. Mended: it caches four models."""

import functools
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Ranker(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).mean(dim=1)


@functools.lru_cache(maxsize=4 if mended else None)
def load_model(customer: int) -> Ranker:
    width = 1024 + 256 * (customer % 3)
    return Ranker(width).cuda().eval()  # <-- place


@torch.no_grad()
def rank(customer: int) -> float:
    model = load_model(customer)  # <-- place
    items = torch.randn(64, model.layers[0].in_features, device="cuda")
    return model(items).max().item()


for request in range(60):
    rank(request % 30)
print("all requests are answered")
