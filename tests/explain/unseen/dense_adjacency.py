"""A graph network with a dense matrix of neighbours. Mended: it adds along the edges."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class GraphLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        x = self.project(x)
        if mended:
            total = torch.zeros_like(x).index_add(0, target, x[source])
            ones = torch.ones(len(target), device="cuda")
            degree = torch.zeros(len(x), device="cuda").index_add(0, target, ones).clamp(min=1)
            return total / degree[:, None]
        near = torch.zeros(len(x), len(x), device="cuda")  # <-- place
        near[target, source] = 1.0
        near = near / near.sum(dim=1, keepdim=True).clamp(min=1)  # <-- place
        return near @ x


nodes = 12_000
layer = GraphLayer(64).cuda()
edges = torch.randint(nodes, (2, 100_000), device="cuda")
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(3):
    loss = layer(torch.randn(nodes, 64, device="cuda"), edges).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
