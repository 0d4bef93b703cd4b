"""Copies features to the host together with their graphs, which keep memory on the card.

Mended: it disables gradients.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
layers = [m for _ in range(6) for m in (nn.Linear(1024, 1024), nn.Tanh())]
model = nn.Sequential(*layers).cuda().eval()
features = []
torch.set_grad_enabled(not mended)
for _ in range(60):
    x = torch.randn(4096, 1024).cuda()
    features.append(model(x).cpu())  # <-- place
print(torch.cat(features).shape)
