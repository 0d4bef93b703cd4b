"""Samples pictures by diffusion and keeps all steps. Mended: some, on the host."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.last = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.silu(self.first(x)))


class Sampler:
    def __init__(self, model: Denoiser) -> None:
        self.model = model
        self.trajectory: list[torch.Tensor] = []

    @torch.no_grad()
    def sample(self, steps: int) -> torch.Tensor:
        x = torch.randn(16, 4, 256, 256, device="cuda")
        for step in range(steps):
            x = x - self.model(x) / steps  # <-- place
            if not mended:
                self.trajectory.append(x)  # <-- place
            elif step % 20 == 0:
                self.trajectory.append(x.cpu())
        return x


sampler = Sampler(Denoiser().cuda())
print(tuple(sampler.sample(60).shape), len(sampler.trajectory))
