"""Trains blocks with xFormers' attention. With `graphs` they then answer from a CUDA graph."""

from __future__ import annotations

import torch
import xformers.ops
from tell import captured
from training import WITH_GRAPHS, tell_training, train

STEPS, ROWS, LENGTH, WIDTH, HEADS, LAYERS = 5, 4, 128, 512, 8, 4


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.end = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        rows, length, _ = words.shape
        parts = self.project(self.norm(words)).view(rows, length, 3, HEADS, WIDTH // HEADS)
        mask = xformers.ops.LowerTriangularMask()
        seen = xformers.ops.memory_efficient_attention(*parts.unbind(2), attn_bias=mask)
        return words + self.end(seen.reshape(rows, length, WIDTH))


def loss_of(model: torch.nn.Module) -> torch.Tensor:
    words = torch.rand(ROWS, LENGTH, WIDTH, dtype=torch.bfloat16).cuda()
    return model(words).square().mean()


torch.manual_seed(1)
model = torch.nn.Sequential(*(Block() for _ in range(LAYERS))).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters())
finite = train(lambda: loss_of(model), optimizer, STEPS)
if WITH_GRAPHS:
    words = torch.rand(1, LENGTH, WIDTH, dtype=torch.bfloat16, device="cuda")
    assert captured(lambda: model(words)) == [1, LENGTH, WIDTH]
tell_training(finite, STEPS, optimizer, model)
