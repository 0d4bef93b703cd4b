"""Trains a model that torch.compile compiled."""

from __future__ import annotations

import torch
from tell import parameters_of, state_of, tell, trained_of

STEPS = 8


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


model = torch.nn.Sequential(*(Block(512) for _ in range(3)), torch.nn.Linear(512, 10)).cuda()
fast = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(STEPS):
    optimizer.zero_grad()
    fast(torch.randn(4096, 512, device="cuda")).square().mean().backward()
    optimizer.step()
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
