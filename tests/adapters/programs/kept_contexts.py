"""A function of autograd stores its output as an attribute of ctx, in each of several layers.

Each context refers to the one before it; the collector sees only the last one.
"""

import torch
from torch import nn
from torch.autograd.function import FunctionCtx


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        ctx.sigmoid = torch.sigmoid(x)
        ctx.out = x * ctx.sigmoid
        return ctx.out

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * (ctx.sigmoid + ctx.out * (1 - ctx.sigmoid))


layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(6)).cuda()
while True:
    x = torch.zeros(4096, 256, device="cuda")
    for layer in layers:
        x = Swish.apply(layer(x))
    x.sum().backward()
