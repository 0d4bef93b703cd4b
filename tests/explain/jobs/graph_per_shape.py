"""Captures a CUDA graph for each length, each with a private memory pool.

Mended: all graphs share one pool.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
graphs: dict[int, torch.cuda.CUDAGraph] = {}
results = {}


@torch.no_grad()
def capture(length: int, pool: tuple[int, int] | None) -> None:
    x = torch.zeros(length, 1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = model(x)  # <-- place
    graphs[length] = graph
    results[length] = y


model(torch.zeros(64, 1024, device="cuda"))
shared = torch.cuda.graph_pool_handle() if mended else None
for length in range(5120, 0, -512):
    capture(length, shared)
    print("captured", length)
