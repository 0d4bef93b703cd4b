"""Embeds pages in a worker thread, and keeps all futures and thereby their results.

Mended: a future holds only the mean.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


embedder = Embedder().cuda().eval()


def embed(page: int) -> torch.Tensor:
    with torch.no_grad():
        words = torch.randn(4096, 256, device="cuda")
        vectors = embedder(words)  # <-- place
        return vectors.mean(dim=0) if mended else vectors  # <-- place


with ThreadPoolExecutor(max_workers=1) as pool:
    futures = [pool.submit(embed, page) for page in range(45)]  # <-- place
    total = sum(future.result().sum().item() for future in futures)
print(total)
