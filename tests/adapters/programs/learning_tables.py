"""A table of embeddings that is updated in its backward pass, as in fbgemm_gpu: the optimizer's
state is in buffers of the module. With the argument `moved` the model is moved to the GPU,
otherwise it is created there. Prints the bytes of each kind, as JSON."""

from __future__ import annotations

import json
import sys

import torch
from torch import nn

ROWS, WIDTH, LR = 20_000, 64, 0.1
IS_MOVED = "moved" in sys.argv[1:]


class Learning(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, wanted: torch.Tensor, _: torch.Tensor, table: Table) -> torch.Tensor:
        ctx.table = table
        ctx.save_for_backward(wanted)
        return table.weights_dev[wanted]

    @staticmethod
    def backward(ctx: object, slope: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        (wanted,) = ctx.saved_tensors
        table = ctx.table
        table.momentum1_dev.index_add_(0, wanted, slope)
        table.momentum2_dev.index_add_(0, wanted, slope * slope)
        table.weights_dev.index_add_(0, wanted, slope, alpha=-LR)
        return None, torch.zeros(1, device=slope.device), None


class Table(nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.register_buffer("weights_dev", torch.rand(ROWS, WIDTH, device=device))
        self.register_buffer("momentum1_dev", torch.zeros(ROWS, WIDTH, device=device))
        self.register_buffer("momentum2_dev", torch.zeros(ROWS, WIDTH, device=device))
        self.asks = nn.Parameter(torch.zeros(1, device=device))

    def split_optimizer_states(self) -> list[list[torch.Tensor]]:
        return [[self.momentum1_dev, self.momentum2_dev]]

    def forward(self, wanted: torch.Tensor) -> torch.Tensor:
        return Learning.apply(wanted, self.asks, self)


class Averaged(nn.Module):
    """In a module that does not update itself, a buffer of this name is not optimizer state."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.register_buffer("momentum_of_batches", torch.rand(ROWS, WIDTH, device=device))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows * self.momentum_of_batches[0]


place = "cpu" if IS_MOVED else "cuda"
table, averaged, dense = Table(place), Averaged(place), nn.Linear(WIDTH, 1, device=place)
model = nn.Sequential(table, averaged, dense).to("cuda")
optimizer = torch.optim.SGD(dense.parameters())
for _ in range(3):
    model(torch.randint(ROWS, (256,)).cuda()).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
state = table.momentum1_dev.nbytes + table.momentum2_dev.nbytes
held = table.weights_dev.nbytes + averaged.momentum_of_batches.nbytes
print(json.dumps({"parameters": held, "optimizer_state": state}))
