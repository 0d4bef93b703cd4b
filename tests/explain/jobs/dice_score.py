"""Computes the Dice score of a segmentation from one-hot classes.

Mended: it computes one class at a time.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]

CLASSES = 32


def dice_score(guess: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    if mended:
        scores = []
        for label in range(CLASSES):
            a, b = guess == label, truth == label
            scores.append(2 * (a & b).sum() / (a.sum() + b.sum() + 1))
        return torch.stack(scores)
    a = F.one_hot(guess, CLASSES)  # <-- place
    b = F.one_hot(truth, CLASSES)  # <-- place
    both = (a * b).sum(dim=(0, 1, 2))  # <-- place
    return 2 * both / (a.sum(dim=(0, 1, 2)) + b.sum(dim=(0, 1, 2)) + 1)


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.classes = nn.Conv2d(8, CLASSES, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classes(x)


model = Segmenter().cuda().eval()
with torch.no_grad():
    for _batch in range(3):
        guess = model(torch.rand(4, 8, 512, 512, device="cuda")).argmax(dim=1)
        truth = torch.randint(CLASSES, (4, 512, 512), device="cuda")
        print(tuple(dice_score(guess, truth).shape))
