"""Segments large pictures, all layers at full size. Mended: one picture at a time."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Unit(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.conv(x)))


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([Unit(3, 16), Unit(16, 32)])
        self.up = nn.ModuleList([Unit(48, 16), nn.Conv2d(16, 2, 1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.down[0](x)
        two = self.down[1](nn.functional.max_pool2d(one, 2))
        two = nn.functional.interpolate(two, scale_factor=2)
        return self.up[1](self.up[0](torch.cat([one, two], 1)))


def train(batch: int) -> None:
    net = Segmenter().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(3):
        x = torch.rand(batch, 3, 256, 256, device="cuda")
        y = torch.zeros(batch, 256, 256, dtype=torch.long, device="cuda")
        loss = nn.functional.cross_entropy(net(x), y)  # <-- place
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step)


train(1 if mended else 12)
