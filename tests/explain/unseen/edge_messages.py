"""A message for each edge of a large graph, all there at once. Mended: a piece of the edges."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Convolution(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        x = self.project(x)
        total = torch.zeros_like(x)
        size = 50_000 if mended else len(source)
        for begin in range(0, len(source), size):
            messages = x[source[begin : begin + size]]  # <-- place
            total.index_add_(0, target[begin : begin + size], messages)
        return total


nodes, edges = 50_000, 1_500_000
layer = Convolution(128).cuda().eval()
source = torch.randint(nodes, (edges,), device="cuda")
target = torch.randint(nodes, (edges,), device="cuda")
with torch.no_grad():
    x = torch.randn(nodes, 128, device="cuda")
    for _ in range(2):
        x = torch.relu(layer(x, source, target))
print(tuple(x.shape))
