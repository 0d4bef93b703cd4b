"""Gathers features in a list and concatenates them at the end.

Mended: it writes them into one tensor that exists from the start.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


@torch.no_grad()
def extract(net: nn.Module, batches: int) -> torch.Tensor:
    features = torch.empty(batches * 1024, 2048, device="cuda") if mended else None
    parts = []
    for number in range(batches):
        part = net(torch.randn(1024, 128, device="cuda"))
        if features is not None:
            features[number * 1024 : (number + 1) * 1024] = part
        else:
            parts.append(part)
    return torch.cat(parts) if features is None else features  # <-- place


print(extract(nn.Linear(128, 2048).cuda(), 40).shape)
