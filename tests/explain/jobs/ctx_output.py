"""Keeps input and output of an activation function as ctx.x and ctx.y, which makes a cycle.

Mended: it calls save_for_backward.
"""

import sys

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

mended = sys.argv[1:] == ["mended"]


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        y = x * torch.sigmoid(x)  # <-- place
        if mended:
            ctx.save_for_backward(x, y)
        else:
            ctx.x = x  # <-- place
            ctx.y = y  # <-- place
        return y

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        x, y = ctx.saved_tensors if mended else (ctx.x, ctx.y)
        s = torch.sigmoid(x)
        return gradient * (y + s * (1 - y))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(512, 1024)
        self.second = nn.Linear(1024, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(Swish.apply(self.first(x)))  # <-- place


net = Network().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _step in range(40):
    loss = net(torch.randn(4096, 512, device="cuda")).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
