"""Cuts the middle out of large pictures for a classifier. Mended: copies what is cut out."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 5, stride=2)
        self.classes = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classes(torch.relu(self.conv(x)).mean(dim=(2, 3)))


def decode(index: int) -> torch.Tensor:
    return torch.rand(3, 2048, 1024, device="cuda")  # <-- place


def middle(picture: torch.Tensor, size: int) -> torch.Tensor:
    top = (picture.shape[1] - size) // 2
    left = (picture.shape[2] - size) // 2
    crop = picture[:, top : top + size, left : left + size]  # <-- place
    return crop.clone() if mended else crop


crops = []
for index in range(40):
    crops.append(middle(decode(index), 64))  # <-- place
with torch.no_grad():
    scores = Classifier().cuda()(torch.stack(crops))
print(tuple(scores.shape))
