"""Trains layers that PyTorch's own compiler compiled. With `graphs` it uses mode reduce-overhead,
which makes CUDA graphs."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd() / "compiled")  # makes each run compile
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # compiles in this process

import torch
from training import WITH_GRAPHS, tell_training, train

STEPS, ROWS, WIDTH = 5, 512, 512


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


model = torch.nn.Sequential(*(Block() for _ in range(2)), torch.nn.Linear(WIDTH, 10)).cuda()
fast = torch.compile(model, mode="reduce-overhead" if WITH_GRAPHS else "default")
optimizer = torch.optim.AdamW(model.parameters())


def loss_of() -> torch.Tensor:
    return fast(torch.randn(ROWS, WIDTH, device="cuda")).square().mean()


finite = train(loss_of, optimizer, STEPS)
tell_training(len(finite), STEPS, optimizer, model)
