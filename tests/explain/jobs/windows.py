"""Cuts a long signal into windows that overlap, as one tensor. Mended: a piece at a time."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]


def energy(signal: torch.Tensor) -> torch.Tensor:
    frames = signal.unfold(0, 1024, 8)
    if mended:
        return torch.cat([piece.contiguous().square().mean(dim=1) for piece in frames.split(4096)])
    return frames.contiguous().square().mean(dim=1)  # <-- place


for seconds in (10, 20, 60):
    print(seconds, energy(torch.randn(seconds * 44_100, device="cuda")).shape)
