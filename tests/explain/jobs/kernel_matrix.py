"""Kernel regression over all points at once. Mended: in blocks of rows."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]


def kernel(a: torch.Tensor, b: torch.Tensor, width: float = 1.0) -> torch.Tensor:
    distance = torch.cdist(a, b)  # <-- place
    return torch.exp(-(distance**2) / (2 * width**2))  # <-- place


def predict(points: torch.Tensor, train: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    if mended:
        return torch.cat([kernel(part, train) @ weights for part in points.split(512)])
    return kernel(points, train) @ weights


train = torch.randn(10_000, 16, device="cuda")
weights = torch.randn(10_000, 1, device="cuda")
with torch.inference_mode():
    for fold in range(3):
        print(fold, predict(torch.randn(8000, 16, device="cuda"), train, weights).shape)
