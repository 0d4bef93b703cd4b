"""Scores of 150 classes are enlarged, then the best is taken. Mended: the best is enlarged."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Segmenter(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 8, stride=8)
        self.classes = nn.Conv2d(32, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classes(torch.relu(self.stem(x)))


@torch.inference_mode()
def segment(model: Segmenter, picture: torch.Tensor) -> torch.Tensor:
    scores = model(picture)
    size = picture.shape[-2:]
    if mended:
        best = scores.argmax(dim=1, keepdim=True)
        return F.interpolate(best.float(), size=size).to(torch.uint8)[:, 0]
    large = F.interpolate(scores, size=size, mode="bilinear")  # <-- place
    return large.argmax(dim=1).to(torch.uint8)


model = Segmenter(150).cuda().eval()
for _picture in range(3):
    print(tuple(segment(model, torch.rand(1, 3, 1024, 1024, device="cuda")).shape))
