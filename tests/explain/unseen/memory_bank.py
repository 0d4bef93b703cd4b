"""Contrastive learning with a bank of keys that only grows. Mended: it keeps the newest."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Contrast:
    def __init__(self, width: int) -> None:
        self.encoder = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, width)).cuda()
        self.bank = torch.empty(0, width, device="cuda")

    @torch.no_grad()
    def enqueue(self, keys: torch.Tensor) -> None:
        self.bank = torch.cat([self.bank, keys])  # <-- place
        if mended:
            self.bank = self.bank[-65_536:].clone()

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        queries = F.normalize(self.encoder(x[:32]), dim=1)
        with torch.no_grad():
            keys = F.normalize(self.encoder(x), dim=1)
        self.enqueue(keys)
        return (queries @ self.bank.t()).logsumexp(dim=1).mean()


contrast = Contrast(256)
optimizer = torch.optim.SGD(contrast.encoder.parameters(), lr=0.1)
for _step in range(40):
    loss = contrast.loss(torch.randn(16_384, 128, device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(tuple(contrast.bank.shape))
