"""Shows a smoothed second loss that is not trained. Mended: a number goes into the mean."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(256, 512), nn.ReLU())
        self.classes = nn.Linear(512, 10)
        self.depth = nn.Sequential(nn.Linear(512, 4096), nn.Tanh(), nn.Linear(4096, 1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.trunk(x)
        return self.classes(features), self.depth(features)  # <-- place


class Monitor:
    def __init__(self) -> None:
        self.smooth: torch.Tensor | float = 0.0

    def update(self, value: torch.Tensor | float) -> None:
        self.smooth = 0.9 * self.smooth + 0.1 * value  # <-- place


net = Network().cuda()
monitor = Monitor()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _step in range(25):
    scores, depth = net(torch.randn(2048, 256, device="cuda"))
    loss = scores.logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    second = depth.square().mean()
    monitor.update(second.item() if mended else second)  # <-- place
print("smooth", float(monitor.smooth))
