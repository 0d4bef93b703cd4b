"""Uses PyTorch's attention module with its default, so that it also returns the attention weights.

Mended: it does not request the weights.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed, _ = self.attention(x, x, x, need_weights=not mended)  # <-- place
        return self.norm(x + mixed)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(256, 8) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.mean()


reader = Reader().cuda()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)
for step in range(2):
    reader(torch.randn(2, 2048, 256, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
