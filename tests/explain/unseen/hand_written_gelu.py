"""An activation written out, each piece of which is saved. Mended: PyTorch's own."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


def gelu(x: torch.Tensor) -> torch.Tensor:
    if mended:
        return F.gelu(x, approximate="tanh")
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)  # <-- place
    return 0.5 * x * (1 + torch.tanh(inner))  # <-- place


class Network(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = gelu(layer(x))  # <-- place
        return x


net = Network(8).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    loss = net(torch.randn(4096, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
