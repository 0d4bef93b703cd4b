"""Moves the prototype of each class by what is seen. Mended: under no_grad."""

import contextlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Prototypes:
    def __init__(self, classes: int, width: int) -> None:
        self.classes = classes
        self.values = F.normalize(torch.randn(classes, width, device="cuda"), dim=1)

    def update(self, features: torch.Tensor, labels: torch.Tensor) -> None:
        with torch.no_grad() if mended else contextlib.nullcontext():
            members = F.one_hot(labels, self.classes).float()  # <-- place
            sums = members.t() @ features  # <-- place
            self.values = F.normalize(0.9 * self.values + 0.1 * sums, dim=1)  # <-- place


encoder = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)).cuda()
prototypes = Prototypes(2000, 128)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
for _step in range(25):
    labels = torch.randint(2000, (4096,), device="cuda")
    features = encoder(torch.randn(4096, 128, device="cuda"))
    loss = F.cross_entropy(features @ prototypes.values.detach().t(), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    prototypes.update(features, labels)
print("trained")
