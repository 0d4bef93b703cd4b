"""An activation keeps its output as ctx.out, in each layer of a network. Mended: it saves it."""

import sys

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

mended = sys.argv[1:] == ["mended"]


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        s = torch.sigmoid(x)  # <-- place
        out = x * s  # <-- place
        if mended:
            ctx.save_for_backward(s, out)
        else:
            ctx.s, ctx.out = s, out  # <-- place
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        s, out = ctx.saved_tensors if mended else (ctx.s, ctx.out)
        return gradient * (s + out * (1 - s))


class Swish(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return SwishFunction.apply(x)  # <-- place


def block() -> nn.Module:
    return nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), Swish())


net = nn.Sequential(*[block() for _ in range(6)], nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(net.parameters())
for _step in range(60):
    loss = net(torch.randn(1024, 512, device="cuda")).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
