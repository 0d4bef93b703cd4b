"""A server of many models keeps the four that were used last."""

import functools

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(6)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).mean(dim=1)


@functools.lru_cache(maxsize=4)
def load(customer: int) -> Ranker:
    return Ranker().cuda().eval()


@torch.inference_mode()
def rank(customer: int) -> float:
    return load(customer)(torch.randn(64, 1024, device="cuda")).max().item()


for request in range(24):
    rank((request // 3) % 6)
print(load.cache_info())
