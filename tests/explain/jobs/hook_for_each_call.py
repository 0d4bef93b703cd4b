"""Registers a hook on a layer in each call, and removes none. Mended: it removes each hook."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
network = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 8, 3, stride=2))
network.cuda().eval()


@torch.no_grad()
def features(picture: torch.Tensor, layer: nn.Module) -> torch.Tensor:
    found = []

    def remember(module: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        found.append(output)  # <-- place

    handle = layer.register_forward_hook(remember)  # <-- place
    network(picture)  # <-- place
    if mended:
        handle.remove()
    return found[-1]


total = 0.0
for _picture in range(60):
    total += features(torch.randn(4, 3, 160, 160, device="cuda"), network[0]).mean().item()
print("done")
