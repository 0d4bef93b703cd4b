"""Gathers hard examples in a list that is the default value of an argument.

Mended: it keeps only the last eight.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def hard_examples(x: torch.Tensor, hard: list[torch.Tensor] = []) -> int:  # noqa: B006
    hard.append(x)  # <-- place
    if mended:
        del hard[:-8]
    return len(hard)


model = Classifier().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(45):
    x = torch.randn(4096, 1024, device="cuda")  # <-- place
    loss = model(x).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hard_examples(x)
print("trained")
