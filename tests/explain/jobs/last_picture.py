"""Keeps the last picture while the next one is computed. Mended: it deletes the last one first."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


@torch.no_grad()
def render(decoder: nn.Module, pictures: int) -> None:
    for number in range(pictures):
        noise = torch.randn(16, 4, 128, 128, device="cuda")
        picture = decoder(noise)  # <-- place
        print("picture", number, picture.shape)
        if mended:
            del picture


render(nn.Sequential(nn.Conv2d(4, 256, 3, padding=1)).cuda(), 4)
