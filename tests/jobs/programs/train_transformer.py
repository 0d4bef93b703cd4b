"""Trains a small transformer on the simulated GPU and on the CPU, and prints both losses."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

WIDTH, LENGTH, WORDS = 64, 16, 50


def train(device: str, fused: bool, steps: int = 40) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(WORDS, WIDTH),
        nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True),
        nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True),
        nn.Linear(WIDTH, WORDS),
    ).to(device)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(WORDS, (8, LENGTH), generator=generator).to(device)
    wanted = (tokens * 7 + 3) % WORDS
    update = torch.optim.AdamW(model.parameters(), lr=0.003, fused=fused, foreach=not fused)
    losses = []
    for _ in range(steps):
        with sdpa_kernel(SDPBackend.MATH):
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())
        update.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update.step()
        losses.append(loss.item())
    return losses


fused = sys.argv[1] == "fused"
for card, host in zip(train("cuda", fused), train("cpu", fused), strict=True):
    print(card, host)
