"""Embeds a catalogue for a search index with gradients enabled, though nothing is trained.

Mended: it embeds under no_grad().
"""

import contextlib
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(768, 3072)
        self.out = nn.Linear(3072, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.hidden(x)))


def embed_all(embedder: Embedder, batches: int) -> torch.Tensor:
    vectors = []
    for _ in range(batches):
        vectors.append(embedder(torch.randn(2048, 768, device="cuda")))  # <-- place
    return torch.cat(vectors)


with torch.no_grad() if mended else contextlib.nullcontext():
    print(embed_all(Embedder().cuda().eval(), 40).shape)
