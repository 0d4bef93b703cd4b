"""Trains an LSTM, then sorts, sums and transforms; an H100 recorded h100/lstm.pickle.gz."""

from __future__ import annotations

import torch
from torch import nn

STEPS = 3
WORDS = 10000


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 512)
        self.lstm = nn.LSTM(512, 512, 2, batch_first=True)
        self.head = nn.Linear(512, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embedding(words))[0])


torch.manual_seed(0)
network = Network().cuda()
optimizer = torch.optim.Adam(network.parameters())
for _ in range(STEPS):
    words = torch.randint(0, WORDS, (32, 128), device="cuda")
    loss = nn.functional.cross_entropy(network(words).flatten(0, 1), words.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
kept = [
    torch.unique(torch.randint(0, 1000, (100000,), device="cuda")),
    torch.sort(torch.randn(1000000, device="cuda")),
    torch.topk(torch.randn(4, 100000, device="cuda"), 10),
    torch.cumsum(torch.randn(1000, 1000, device="cuda"), 0),
    torch.linalg.svd(torch.randn(64, 64, device="cuda")),
    torch.fft.fft(torch.randn(1000, 1000, device="cuda")),
]
print(len(kept))
