"""Keeps the first token of each document as a view, which keeps the memory of all its tokens.

Mended: it keeps a copy.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 384)
        self.mix = nn.Linear(384, 384)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.mix(self.embed(tokens)))


@torch.no_grad()
def encode(encoder: Encoder, documents: int) -> torch.Tensor:
    firsts = []
    for _ in range(documents):
        states = encoder(torch.zeros(32, 512, dtype=torch.long, device="cuda"))  # <-- place
        first = states[:, 0]
        firsts.append(first.clone() if mended else first)  # <-- place
    return torch.stack(firsts)


print(encode(Encoder().cuda().eval(), 40).shape)
