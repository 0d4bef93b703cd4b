"""Runs a training loop of one kind; prints after each iteration the number of driver calls.

Usage: steady_loop.py KIND ITERATIONS, under `vramstow run --simulate=…,call-log=…`. The calls are
the lines of the call log named by VRAMSTOW_TEST_CALL_LOG.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

Batch = tuple[Tensor, Tensor]


class Attention(nn.Module):
    """Attention without a fused kernel: its scores are the largest tensors."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inner = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.inner(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5).softmax(-1)
        return x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))


def transformer() -> tuple[nn.Module, Callable[[], Batch]]:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.Sequential(
        nn.Embedding(8192, 256),
        nn.TransformerEncoder(layer, 6, enable_nested_tensor=False),
        nn.Linear(256, 8192),
        nn.Flatten(0, 1),
    )
    return model, lambda: (
        torch.zeros(8, 256, dtype=torch.long, device="cuda"),
        torch.zeros(8 * 256, dtype=torch.long, device="cuda"),
    )


def mlp() -> tuple[nn.Module, Callable[[], Batch]]:
    layers = [nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(8)]
    model = nn.Sequential(*layers, nn.Linear(2048, 1000))
    return model, lambda: (
        torch.zeros(512, 2048, device="cuda"),
        torch.zeros(512, dtype=torch.long, device="cuda"),
    )


def convnet() -> tuple[nn.Module, Callable[[], Batch]]:
    widths = [3, 64, 64, 128, 128, 256, 256]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        if after == before:
            layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 1000))
    return model, lambda: (
        torch.zeros(16, 3, 160, 160, device="cuda"),
        torch.zeros(16, dtype=torch.long, device="cuda"),
    )


def attention() -> tuple[nn.Module, Callable[[], Batch]]:
    model = nn.Sequential(*(Attention(512, 8) for _ in range(4)), nn.Flatten(0, 1))
    return model, lambda: (
        torch.zeros(4, 512, 512, device="cuda"),
        torch.zeros(4 * 512, dtype=torch.long, device="cuda"),
    )


def calls() -> int:
    return Path(os.environ["VRAMSTOW_TEST_CALL_LOG"]).read_bytes().count(b"\n")


def main() -> None:
    kinds = {"transformer": transformer, "mlp": mlp, "convnet": convnet, "attention": attention}
    model, batch = kinds[sys.argv[1]]()
    model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(1, int(sys.argv[2]) + 1):
        inputs, targets = batch()
        loss = functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        print("step", step, calls(), flush=True)
    # Python may abort at its end on a busy machine (docs/troubleshooting.md, status 134).
    os._exit(0)


if __name__ == "__main__":
    main()
