"""A list keeps the outputs of a function of autograd, and with each output what the function saved.

A compiled model is such a function: its outputs reference the Python object of their node.
"""

import torch
from torch import nn
from torch.autograd.function import FunctionCtx


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        hidden = x * weight
        ctx.save_for_backward(hidden)
        return (hidden * hidden).sum()

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (hidden,) = ctx.saved_tensors
        return gradient * hidden, gradient * hidden


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Square.apply(x, self.weight)


model = Scale().cuda()
x = torch.zeros(4 << 20, device="cuda")
kept = []
while True:
    kept.append(model(x))
