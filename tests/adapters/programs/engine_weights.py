"""Acts as an engine that shards state over ranks: it has a bucket for gradients, and full-precision
copies of the weights, which the optimizer updates. With the argument `flat` it puts the weights
into one buffer. Prints the bytes of each kind, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import torch
from torch import nn

WIDTH = 512
LAYERS = 6


class Buffer:
    """All weights of a module, one after another."""

    def __init__(self, module: nn.Module) -> None:
        weights = list(module.parameters())
        sizes = [weight.numel() for weight in weights]
        self.memory = torch.empty(sum(sizes), dtype=torch.bfloat16, device="cuda")
        for weight, part in zip(weights, self.memory.split(sizes), strict=True):
            weight.data = part.view_as(weight).copy_(weight.data)


class Engine(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module.bfloat16().cuda()
        self.bucket = torch.empty(20 << 20, dtype=torch.bfloat16, device="cuda")
        self.prepare()
        self.copies = [p.detach().clone().float().requires_grad_() for p in module.parameters()]
        self.optimizer = torch.optim.AdamW(self.copies)
        self.buffer = Buffer(module) if "flat" in sys.argv[1:] else None

    def prepare(self) -> None:
        self.second = torch.empty(20 << 20, dtype=torch.bfloat16, device="cuda")

    def step(self) -> None:
        for copy, weight in zip(self.copies, self.module.parameters(), strict=True):
            copy.grad, weight.grad = weight.grad.float(), None
        self.optimizer.step()
        for copy, weight in zip(self.copies, self.module.parameters(), strict=True):
            copy.grad = None
            weight.data.copy_(copy)


def bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors if tensor.is_cuda)


engine = Engine(nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))))
for _ in range(3):
    x = torch.rand(16, WIDTH).cuda().bfloat16()
    engine.module(x).float().square().mean().backward()
    engine.step()
state = [value for kept in engine.optimizer.state.values() for value in kept.values()]
print(
    json.dumps(
        {
            "parameters": bytes_of(engine.module.parameters()),
            "optimizer_state": bytes_of(engine.copies) + bytes_of(state),
        }
    )
)
