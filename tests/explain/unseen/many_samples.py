"""Draws all samples of the latent at once. Mended: one after the other."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


@torch.no_grad()
def expectation(decoder: nn.Module, mean: torch.Tensor, samples: int) -> torch.Tensor:
    if mended:
        total = torch.zeros(len(mean), 16, device="cuda")
        for _ in range(samples):
            total += decoder(mean + torch.randn_like(mean))
        return total / samples
    noise = torch.randn(samples, *mean.shape, device="cuda")  # <-- place
    return decoder(mean + noise).mean(dim=0)


decoder = nn.Linear(1024, 16).cuda().eval()
print(tuple(expectation(decoder, torch.zeros(4096, 1024, device="cuda"), 64).shape))
