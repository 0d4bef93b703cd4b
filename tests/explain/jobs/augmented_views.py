"""All views of the training images are made at the start."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Views(Dataset):
    def __init__(self, count: int, device: str) -> None:
        base = torch.zeros(count, 3, 128, 128, dtype=torch.uint8)
        self.views = []
        for shift in range(8):
            view = base.to(device).float() / 255  # <-- place
            self.views.append(view.roll(shift, dims=-1))  # <-- place
        self.count = count

    def __len__(self) -> int:
        return self.count * len(self.views)

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.views[i // self.count][i % self.count]


data = Views(1200, "cpu" if "mended" in sys.argv else "cuda")
net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.Flatten(), nn.LazyLinear(10)).cuda()
optimizer = None
for _step, batch in zip(range(3), DataLoader(data, batch_size=32), strict=False):
    out = net(batch.cuda())
    optimizer = optimizer or torch.optim.Adam(net.parameters())
    out.logsumexp(1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
